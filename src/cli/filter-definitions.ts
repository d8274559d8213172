import type { JsonObject } from '../domain/json.ts'
import { compileFilter } from '../filter-spec/compile-filter.ts'
import type { Filter } from '../filter-spec/filter.ts'
import { filterEntry, MAX_FILTERS } from '../filter-spec/spec-file.ts'

/** The filters of a `GET /filter-spec` answer. One that this program cannot read or evaluate counts as lacking. */
export const readDefinitions = (entries: readonly JsonObject[]): Map<string, Filter> => {
  const filters = new Map<string, Filter>()
  for (const entry of entries.slice(0, MAX_FILTERS)) {
    const parsed = filterEntry.safeParse(knownKeys(entry))
    if (parsed.success) filters.set(parsed.data.name, compileFilter(parsed.data))
  }
  return filters
}

/** Gateways say more of a filter than a Registry does (`contract.md` 3.2). */
const knownKeys = ({ name, path, op, value_type, alias_kind, on_missing, indexed }: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries({ name, path, op, value_type, alias_kind, on_missing, indexed }).filter(
      (entry): entry is [string, NonNullable<(typeof entry)[1]> | null] => entry[1] !== undefined,
    ),
  )
