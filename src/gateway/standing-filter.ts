import type { StandingFilter } from '../domain/query.ts'
import { ConfigError, EntrepotError, type Violation } from '../errors.ts'
import type { Criterion, Filter } from '../filter-spec/filter.ts'
import { parseCriteria } from '../filter-spec/parameters.ts'

/** Filters of a file: of the own filter spec, or derived; a list is the set of its values. */
type FilterEntries = Readonly<Record<string, Value | readonly Value[]>>
type Value = string | number | boolean

/**
 * @param filters the own ones and the derived ones: an upstream's are not known at the start
 * @param placeOf where the file has a filter, for its problem
 * @throws ConfigError with every problem
 */
export function standingFilter(
  filters: ReadonlyMap<string, Filter>,
  entries: FilterEntries,
  placeOf: (name: string) => string,
): StandingFilter {
  const problems: Violation[] = []
  const pairs = Object.entries(entries).map(
    ([name, value]) => [name, textOf(filters.get(name), value)] as const,
  )
  const criteria = pairs.flatMap(([name, text]) => {
    try {
      return parseCriteria({ filters }, [[name, text]])
    } catch (cause) {
      if (!(cause instanceof EntrepotError)) throw cause
      const hint = cause.errors[0]?.message
      problems.push({
        path: placeOf(name),
        message: hint === undefined ? cause.message : `${cause.message}: ${hint}`,
      })
      return []
    }
  })
  if (problems.length > 0) throw new ConfigError(problems)
  if (criteria.length === 0) return { criteria, filters: [], key: '' }
  return { criteria, filters: pairs, key: JSON.stringify([pairs, meaningsOf(criteria)]) }
}

/** Without the values: a reload may give a filter another meaning. */
export function meaningsOf(criteria: readonly Criterion[]): unknown[] {
  return criteria.map(({ filter: { path, op, value_type, alias_kind }, onMissing }) => {
    return [path, op, value_type, alias_kind, onMissing]
  })
}

function textOf(filter: Filter | undefined, value: Value | readonly Value[]): string {
  if (!isList(value)) return String(value)
  const texts = value.map(String)
  const set = texts.some((text) => text.includes(',')) ? JSON.stringify(texts) : `[${texts.join(',')}]`
  return `${filter?.op ?? 'in'}:${set}`
}

/** `Array.isArray` does not narrow a readonly array. */
const isList = (value: Value | readonly Value[]): value is readonly Value[] => Array.isArray(value)
