import type { Filter } from './filter.ts'
import { OVERRIDE_PREFIX } from './reserved.ts'

type Described = Pick<Filter, 'name' | 'path' | 'op' | 'alias_kind' | 'on_missing'>

/** One line for people and agents: which listings a filter keeps, and how to write its value. */
export function describeFilter({ name, path, on_missing, ...filter }: Described): string {
  const [kept, other] = on_missing === 'pass' ? ['kept', true] : ['dropped', false]
  return `${path} ${meaning(filter)}. Listings without it are ${kept}; ${OVERRIDE_PREFIX}${name}=${other} turns that round`
}

function meaning({ op, alias_kind }: Pick<Filter, 'op' | 'alias_kind'>): string {
  if (op === 'in') return 'is the value, or one of in:[a,b]'
  if (op === 'not_in') return 'is none of not_in:[a,b]'
  if (op === 'exists') return 'is there, or is not: exists:true, exists:false'
  if (alias_kind === null) return 'lies within range:[16,128], range:[16,) or the like'
  return `is ${alias_kind === 'lower_bound' ? 'at least' : 'at most'} the value, or lies within range:[16,128]`
}
