import type { Criterion } from './criteria.ts'
import { filterNameOf } from './reserved.ts'

export function unsentFilters({
  criteria,
  filters,
}: {
  criteria: readonly Criterion[]
  filters: readonly (readonly [name: string, value: string])[]
}): string[] {
  if (criteria.every(({ filter }) => filters.some(([parameter]) => filterNameOf(parameter) === filter.name)))
    return []
  const sent = new Set(filters.map(([parameter]) => filterNameOf(parameter)))
  return [...new Set(criteria.map(({ filter }) => filter.name))].filter((name) => !sent.has(name))
}
