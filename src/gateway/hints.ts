import type { Holding } from '../domain/source/holding.ts'
import { setFormOf } from '../filter-spec/operations/operations.ts'
import { filterNameOf, OVERRIDE_PREFIX } from '../filter-spec/parameters.ts'
import { MODEL_PATH } from '../vocabulary/names.ts'
import { ask, matchesOf } from './asked.ts'
import { type Question, withFilters } from './market-query.ts'
import { type MarketSettings, visibleSources } from './sources.ts'

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
  settings: MarketSettings,
  question: Question,
): Promise<Unplaced | undefined> {
  const { criteria, filters } = question.query
  if (!criteria.some(({ filter }) => filter.parseDerived !== undefined)) return undefined
  const names = criteria.flatMap(({ filter, unplaced }) => (unplaced === undefined ? [] : filter.name))
  if (names.length === 0) return {}
  const [total, ...totals] = await Promise.all([
    countMatches(settings, question),
    ...names.map((name) =>
      countMatches(settings, withFilters(question, [...filters, [`${OVERRIDE_PREFIX}${name}`, 'false']])),
    ),
  ])
  return Object.fromEntries(names.map((name, n) => [name, Math.max(0, totals[n]! - total)]))
}

/**
 * What a spelling of a model leaves out: empty where a source would have to be asked for it, and where the spelling finds all.
 */
export async function suggestModel(
  settings: MarketSettings,
  question: Question,
  total: number,
): Promise<readonly Suggestion[]> {
  const { criteria, filters } = question.query
  const spelled = criteria.find(({ filter }) => filter.path === MODEL_PATH)
  const text = filters.findLast(([name]) => name === spelled?.filter.name)?.[1]
  if (spelled === undefined || text === undefined || setFormOf(text) !== null) return []
  const meant = settings.vocabulary.queryOf(text)
  if (meant === null || criteria.some(({ filter }) => Object.hasOwn(meant, filter.name))) return []
  const isBrought = ({ fetch, coverage }: Holding): boolean => fetch !== undefined && coverage() !== 'whole'
  if (visibleSources(settings.sources, question.request).some(isBrought)) return []
  const others = filters.filter(([parameter]) => filterNameOf(parameter) !== spelled.filter.name)
  const more = await countMatches(settings, withFilters(question, [...others, ...Object.entries(meant)]))
  return more > total ? [{ query: meant, total: more }] : []
}

/** Listings that match, each once, over the sources that answer. */
export async function countMatches(
  settings: MarketSettings,
  { query, request }: Pick<Question, 'query' | 'request'>,
): Promise<number> {
  return (await matchesOf(settings, await ask(settings, query, request))).total
}
