import type { ListingQuery } from '../domain/query.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import { endOfMs } from '../domain/timestamp.ts'
import type { FilterSpec } from '../filter-spec/filter.ts'
import { setFormOf } from '../filter-spec/operations/operations.ts'
import { filterNameOf, OVERRIDE_PREFIX, parseCriteria } from '../filter-spec/parameters.ts'
import { MODEL_PATH } from '../vocabulary/names.ts'
import { decidersOf } from './deciders.ts'
import { MergedSequence } from './merge.ts'
import { type MergeRequest, type MergeSettings, visibleSources, withBudget } from './sources.ts'

/** By derived filter: listings that match all other filters, and that this one cannot judge. */
type Unplaced = Readonly<Record<string, number>>

/** The same question by what the listings mean, where that finds more. */
export type Suggestion = { query: Readonly<Record<string, string>>; total: number }

/** What an answer says beside its listings; each is absent where there is nothing to say. */
export type Hints = { unplaced: Unplaced | undefined; suggestions: readonly Suggestion[] | undefined }

/**
 * What more matches with `strict.NAME=false`, over the sources that answer. `undefined` for a query without derived filters; empty
 * where it asks for the unplaced itself.
 */
export async function countUnplaced(
  settings: MergeSettings,
  { query, spec }: { query: ListingQuery; spec: Pick<FilterSpec, 'filters'> },
  request: MergeRequest,
): Promise<Unplaced | undefined> {
  if (!query.criteria.some(({ filter }) => filter.parseDerived !== undefined)) return undefined
  const derived = query.criteria.filter(({ unplaced }) => unplaced !== undefined)
  if (derived.length === 0) return {}
  const count = (filters: ListingQuery['filters']) =>
    countMatches(settings, { ...query, filters, criteria: parseCriteria(spec, filters) }, request)
  const names = derived.map(({ filter }) => filter.name)
  const [total, ...totals] = await Promise.all([
    count(query.filters),
    ...names.map((name) => count([...query.filters, [`${OVERRIDE_PREFIX}${name}`, 'false']])),
  ])
  return Object.fromEntries(names.map((name, n) => [name, Math.max(0, totals[n]! - total)]))
}

/** What a spelling of a model leaves out: absent where a source does not answer, and where the spelling finds all. */
export async function suggestModel(
  settings: MergeSettings,
  { query, spec, total }: { query: ListingQuery; spec: Pick<FilterSpec, 'filters'>; total: number },
  request: MergeRequest,
): Promise<readonly Suggestion[] | undefined> {
  const spelled = query.criteria.find(({ filter }) => filter.path === MODEL_PATH)
  const text = query.filters.findLast(([name]) => name === spelled?.filter.name)?.[1]
  if (spelled === undefined || text === undefined || setFormOf(text) !== null) return undefined
  const meant = settings.vocabulary.queryOf(text)
  if (meant === null || Object.keys(meant).some((name) => isAsked(query, name))) return undefined
  const visible = visibleSources(settings.sources, request)
  const isInMemory = ({ held }: NamedSource): boolean =>
    held.failure(query) === null && (held.fetch === undefined || held.coverage() === 'whole')
  if (!visible.every(isInMemory)) return undefined
  const others = query.filters.filter(([parameter]) => filterNameOf(parameter) !== spelled.filter.name)
  const filters = [...others, ...Object.entries(meant)]
  const criteria = parseCriteria(spec, filters)
  const more = await countMatches(settings, { ...query, filters, criteria }, request)
  return more > total ? [{ query: meant, total: more }] : undefined
}

function isAsked({ criteria }: ListingQuery, name: string): boolean {
  return criteria.some(({ filter }) => filter.name === name)
}

/** Listings that match, each once, over the sources that answer. */
export async function countMatches(
  settings: MergeSettings,
  query: ListingQuery,
  request: MergeRequest,
): Promise<number> {
  const { sources, holdings, clock } = settings
  const { budgetMs: ms = settings.budgetMs } = request
  const sequence = new MergedSequence(visibleSources(sources, request), query, {
    cap: endOfMs(clock.now()),
    openDeciders: decidersOf(holdings),
  })
  await withBudget(ms, request.signal, (signal) => sequence.take(1, signal))
  return sequence.total
}
