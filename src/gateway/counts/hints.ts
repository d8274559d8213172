import { byCount } from '../../domain/counts.ts'
import { nearestValue } from '../../domain/nearest-name.ts'
import type { ListingQuery } from '../../domain/query.ts'
import type { Holding } from '../../domain/source/holding.ts'
import type { Criterion, Filter } from '../../filter-spec/filter.ts'
import { writeSet } from '../../filter-spec/literals.ts'
import { OPERATIONS, parseTest, setFormOf } from '../../filter-spec/operations/operations.ts'
import { filterNameOf, OVERRIDE_PREFIX } from '../../filter-spec/parameters.ts'
import { publisherNamed } from '../../signing/principal.ts'
import { MODEL_PATH } from '../../vocabulary/names.ts'
import { ask, matchesOf } from '../ask.ts'
import type { Asking } from '../asking.ts'
import { type Question, withFilters } from '../market-query.ts'
import type { MarketSettings } from '../market-settings.ts'
import { unlessRefused } from '../source-report.ts'
import { visibleSources } from '../sources.ts'
import { countValues } from './facets.ts'

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

/** Queries that find more: by what a model means, and, where nothing matches, by values and publishers that listings have. */
export async function suggest(
  settings: MarketSettings,
  question: Question,
  { total, isMiss }: { total: number; isMiss: boolean },
): Promise<readonly Suggestion[] | undefined> {
  const models = await suggestModel(settings, question, total)
  const whole = (await suggestWholeValues(settings, question, total)) ?? []
  const values = isMiss && whole.length === 0 ? await suggestValues(settings, question) : []
  const publishers = isMiss ? await suggestPublishers(settings, question) : []
  return given([...models, ...whole, ...values, ...publishers])
}

const given = (all: readonly Suggestion[]) => (all.length === 0 ? undefined : all)

/**
 * What a spelling of a model leaves out: empty where a source would have to be asked for it, and where the spelling finds all.
 */
async function suggestModel(
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

/** Filters of a query whose values are looked up. */
const MAX_LOOKED_UP = 4
/** Neighbours in a set that may be pieces of one value: `Michigan, US, NA` has three. */
const MAX_PIECES = 3
/** Values of a set that are looked at. */
const MAX_SET = 100

/**
 * A set that splits a value which listings have at its comma, which is read as the protocol says: the set as a JSON array, where that
 * finds others.
 */
export async function suggestWholeValues(
  settings: MarketSettings,
  question: Question,
  total: number,
): Promise<readonly Suggestion[] | undefined> {
  const { query } = question
  const sets = query.criteria.slice(0, MAX_LOOKED_UP).flatMap(({ filter }) => splitSetOf(query, filter) ?? [])
  const found = await Promise.all(
    sets.map(async ({ filter, pieces }) => {
      const among = [[filter.name, `${filter.op}:${JSON.stringify(joinedPieces(pieces))}`] as const]
      const known = await valuesOf(settings, withFilters(question, among), filter)
      const values = joinKnown(pieces, new Set(known))
      if (values.length === pieces.length) return []
      const suggestion = await replaced(settings, question, filter, values)
      return suggestion.filter((one) => one.total !== total)
    }),
  )
  return given(found.flat())
}

/** With these values in place of the filter's own, and what matches then. Empty where they cannot be written, or it is not answered. */
async function replaced(
  settings: MarketSettings,
  question: Question,
  filter: Filter,
  values: readonly string[],
): Promise<Suggestion[]> {
  const text = writeValues(filter, values)
  if (text === null) return []
  const filters = question.query.filters.map(
    ([name, value]) => [name, name === filter.name ? text : value] as const,
  )
  const total = await unlessRefused(countMatches(settings, withFilters(question, filters)))
  return total === null ? [] : [{ query: { [filter.name]: text }, total }]
}

/** Values of sellers as values, whatever form they have; `null` for a blank at an end, which no set keeps. */
function writeValues(filter: Filter, values: readonly string[]): string | null {
  const [value = ''] = values
  const isPlain = filter.op === 'in' && values.length === 1 && value !== '' && setFormOf(value) === null
  const text = isPlain ? value : writeSet(filter.op, values)
  const test = parseTest(filter, text)
  return 'values' in test && values.every((one) => test.values.has(one)) && test.values.size === values.length
    ? text
    : null
}

/** `null` for what is no set of texts, and for a JSON array. */
function splitSetOf({ filters }: ListingQuery, filter: Filter) {
  const text = filters.findLast(([name]) => name === filter.name)?.[1] ?? ''
  const form = setFormOf(text)
  if (filter.parseDerived !== undefined || filter.value_type !== 'string') return null
  if (form !== filter.op || !OPERATIONS[form].isByValue || text.includes('"')) return null
  const pieces = text
    .slice(form.length + 2, -1)
    .split(',')
    .map((piece) => piece.trim())
  return pieces.length < 2 || pieces.length > MAX_SET ? null : { filter, pieces }
}

/** Neighbours of a set as one value, with and without a blank behind each comma. */
function joinedPieces(pieces: readonly string[]): string[] {
  const joined = pieces.flatMap((_, start) =>
    Array.from({ length: MAX_PIECES - 1 }, (_, n) => pieces.slice(start, start + n + 2)),
  )
  return [
    ...new Set(joined.filter(({ length }) => length > 1).flatMap((one) => [one.join(', '), one.join(',')])),
  ]
}

/** The pieces, with those that make a known value joined. */
function joinKnown(pieces: readonly string[], known: ReadonlySet<string>): string[] {
  const values: string[] = []
  for (let at = 0; at < pieces.length; ) {
    const counts = Array.from({ length: MAX_PIECES - 1 }, (_, n) => MAX_PIECES - n)
    const found = counts
      .map((count) => pieces.slice(at, at + count))
      .find((one) => one.length > 1 && [', ', ','].some((comma) => known.has(one.join(comma))))
    const count = found?.length ?? 1
    const text = found?.join(', ') ?? pieces[at]!
    values.push(known.has(text) || found === undefined ? text : found.join(','))
    at += count
  }
  return values
}

/** For a query without a match: the nearest value that listings have in place of one that none has, where that finds some. */
async function suggestValues(settings: MarketSettings, question: Question): Promise<Suggestion[]> {
  const { query } = question
  const asked = query.criteria.filter(isOneText).slice(0, MAX_LOOKED_UP)
  const found = await Promise.all(
    asked.map(async ({ filter }): Promise<Suggestion[]> => {
      const text = query.filters.findLast(([name]) => name === filter.name)![1]
      const values = await valuesOf(settings, withFilters(question, []), filter)
      const nearest = values.includes(text) ? null : nearestValue(text, values)
      return nearest === null ? [] : await replaced(settings, question, filter, [nearest])
    }),
  )
  return found.flat().filter(({ total }) => total > 0)
}

/** Characters of an address. */
const MIN_BEGINNING = 6
const MAX_PUBLISHERS = 3

/** Where a publisher is the beginning of an address, as in `0x0f26…` or `0x0f26…3d2a`: such publishers of what matches otherwise. */
async function suggestPublishers(
  settings: MarketSettings,
  { query, request }: Question,
): Promise<Suggestion[]> {
  const { publisher } = query
  if (publisher === null || publisherNamed(publisher) !== null) return []
  const [head = '', tail = ''] = publisher.split(/…|\.{3}/)
  if (head.length < MIN_BEGINNING) return []
  const asked = await ask(settings, { query: { ...query, publisher: null }, request })
  const meant = [...(await matchesOf(settings, asked)).sellers()].filter(
    (one) => one.toLowerCase().startsWith(head) && one.toLowerCase().endsWith(tail),
  )
  const counts = meant.slice(0, MAX_PUBLISHERS).map(async (one) => ({
    query: { publisher: one },
    total:
      (await unlessRefused(countMatches(settings, { query: { ...query, publisher: one }, request }))) ?? 0,
  }))
  return (await Promise.all(counts)).filter(({ total }) => total > 0)
}

function isOneText({ filter, test }: Criterion): boolean {
  return (
    filter.parseDerived === undefined &&
    filter.op === 'in' &&
    filter.value_type === 'string' &&
    'values' in test &&
    test.values.size === 1
  )
}

/** Values that are compared with what was asked. */
const MAX_KNOWN = 100

/** The most frequent values of a filter, at any price and of all publishers; empty where they cannot be counted. */
async function valuesOf(
  settings: MarketSettings,
  { query, request }: Question,
  filter: Filter,
): Promise<readonly string[]> {
  const whole = { query: { ...query, publisher: null, priceLimit: undefined }, request }
  const counts = await unlessRefused(countValues(settings, whole, filter))
  return [...(counts ?? [])]
    .sort(byCount)
    .slice(0, MAX_KNOWN)
    .map(([value]) => value)
}

/** Listings that match, each once, over the sources that answer. */
async function countMatches(settings: MarketSettings, question: Asking): Promise<number> {
  return (await matchesOf(settings, await ask(settings, question))).total
}
