import { setImmediate } from 'node:timers/promises'
import { parseJson } from '../domain/json.ts'
import type { Item, Page, Source } from '../domain/page.ts'
import { SourceError } from '../domain/source-error.ts'
import type { Criterion } from '../filter-spec/criteria.ts'
import { Exclusions } from '../filter-spec/exclusions.ts'
import type { Filter } from '../filter-spec/filter.ts'
import { pathKey } from '../filter-spec/path-key.ts'
import { rowConditions } from '../listing-index/row-conditions.ts'

/** Most listings in memory that are read one by one for a filter that their index does not have. */
export const MEMORY_SCAN_LIMIT = 10_000
/** Read in one go: about 2 ms. */
const BATCH = 500

/**
 * Lets a source that answers from an index be asked for filters that only others declare: their criteria are
 * evaluated on what is left of its listings without them. `indexed` are the filters that it has.
 *
 * Throws `unsupported_filter` with the others' names where more than `MEMORY_SCAN_LIMIT` listings are left.
 */
export const withOtherFilters = (name: string, indexed: Iterable<Filter>): ((source: Source) => Source) => {
  const paths = new Set(Array.from(indexed, ({ compiled }) => pathKey(compiled)))
  const isIndexed = ({ filter }: Criterion): boolean => paths.has(pathKey(filter.compiled))
  return (source) => async (query, signal) => {
    if (query.criteria.every(isIndexed)) return source(query, signal)
    const others = query.criteria.filter((criterion) => !isIndexed(criterion))
    const criteria = query.criteria.filter(isIndexed)
    const all = await source({ ...query, criteria, offset: 0, limit: MEMORY_SCAN_LIMIT }, signal)
    if (all.total > MEMORY_SCAN_LIMIT) throw tooMany(name, others)
    const exclusions = query.explain ? new Exclusions(others) : null
    const items = await matching(all.items, others, exclusions, signal)
    const excluded = [...(all.explanation?.excluded ?? []), ...(exclusions?.list ?? [])]
    return {
      ...all,
      items: items.slice(query.offset, query.offset + query.limit),
      total: items.length,
      ...(all.find === undefined ? {} : { find: findMatching(all.find, others) }),
      ...(exclusions === null ? {} : { explanation: { ...all.explanation, excluded } }),
    }
  }
}

const tooMany = (name: string, others: readonly Criterion[]): SourceError => {
  const filters = [...new Set(others.map(({ filter }) => filter.name))]
  const message = `${name}: has no filter ${filters.join(', ')}, and more than ${MEMORY_SCAN_LIMIT} listings`
  return new SourceError('unsupported_filter', message, { filters })
}

const findMatching =
  (find: NonNullable<Page['find']>, criteria: readonly Criterion[]): NonNullable<Page['find']> =>
  (listingId, known) =>
    find(listingId, known).filter(({ bytes }) => rowConditions(criteria).accept(bytes))

const matching = async (
  items: readonly Item[],
  criteria: readonly Criterion[],
  exclusions: Exclusions | null,
  signal: AbortSignal,
): Promise<Item[]> => {
  const conditions = rowConditions(criteria)
  const kept: Item[] = []
  for (let start = 0; start < items.length; start += BATCH) {
    if (start > 0) await setImmediate()
    signal.throwIfAborted()
    for (const item of items.slice(start, start + BATCH)) {
      if (conditions.accept(item.bytes)) kept.push(item)
      else exclusions?.add(parseJson(Buffer.from(item.bytes).toString()))
    }
  }
  return kept
}
