import type { Filter, FilterSpec, ValueType } from '../filter-spec/filter.ts'
import { OVERRIDE_PREFIX } from '../filter-spec/reserved.ts'
import type { Parameter } from './route.ts'

/** The filters of a spec as query parameters, each with its plain and its set form (`protocol.md` 1.14). */
export const filterParameters = ({ filters }: Pick<FilterSpec, 'filters'>): Parameter[] =>
  [...filters.values()].map((filter) => ({
    name: filter.name,
    in: 'query',
    description: describe(filter),
    schema: { anyOf: [...plainForm(filter), setForm(filter)] },
  }))

const describe = ({ name, path, on_missing, ...filter }: Filter): string => {
  const [kept, other] = on_missing === 'pass' ? ['kept', true] : ['dropped', false]
  return `${path} ${meaning(filter)}. Listings without it are ${kept}; ${OVERRIDE_PREFIX}${name}=${other} turns that round`
}

const meaning = ({ op, alias_kind }: Pick<Filter, 'op' | 'alias_kind'>): string => {
  if (op === 'in') return 'is the value, or one of in:[a,b]'
  if (op === 'not_in') return 'is none of not_in:[a,b]'
  if (op === 'exists') return 'is there, or is not: exists:true, exists:false'
  if (alias_kind === null) return 'lies within range:[16,128], range:[16,) or the like'
  return `is ${alias_kind === 'lower_bound' ? 'at least' : 'at most'} the value, or lies within range:[16,128]`
}

/** What a value may be without a set form; `not_in`, `exists` and a range without alias have none. */
const plainForm = ({ op, alias_kind, value_type }: Filter): { type: string }[] =>
  op === 'in' || (op === 'range' && alias_kind !== null) ? [{ type: JSON_TYPE[value_type] }] : []

const JSON_TYPE: Readonly<Record<ValueType, string>> = {
  string: 'string',
  address: 'string',
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
}

const setForm = ({ op }: Filter): { type: 'string'; pattern: string } => ({
  type: 'string',
  pattern: op === 'exists' ? '^exists:' : op === 'range' ? '^range:[[(]' : `^${op}:\\[`,
})
