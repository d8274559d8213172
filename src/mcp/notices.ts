import { plural } from '../domain/plural.ts'
import { formatAge } from '../domain/timestamp.ts'
import { describeUnknownValues } from '../filter-spec/allowed-values.ts'
import type { Market } from '../gateway/market.ts'
import type { MarketQuery, MarketRequest } from '../gateway/market-query.ts'
import type { Completeness } from '../gateway/source-report.ts'
import { at, type JsonValue, listAt, numberAt, textAt } from '../json/value.ts'
import { MODEL_PATH, REGION_PATH } from '../vocabulary/names.ts'
import { describeAnswered, oldestReading } from '../wire/describe-answered.ts'
import { describeMissing } from '../wire/describe-missing.ts'
import type { SourceNote } from '../wire/source.ts'
import { quoted } from './quoted.ts'

/** Completeness in words for an agent, with the age of the oldest reading. Holds names and reasons, never text of a listing. */
export function describeCompleteness({ complete, sources, sourcesCounted }: Completeness): string {
  const stale = sources.flatMap(describeStale)
  const age = oldestReading(sources, sourcesCounted)
  const oldest = age === null ? null : formatAge(age)
  if (!complete)
    return [
      `INCOMPLETE: ${missingOf(sources)}. More may exist there: do not conclude from this answer that nothing else does.`,
      ...stale,
      ...(oldest === null ? [] : [`Oldest reading: ${oldest}.`]),
    ].join(' ')
  const answered =
    stale.length === 0
      ? `Complete: ${describeAnswered(sources, sourcesCounted)}`
      : `Nothing missing, but not all live: ${stale.join(' ').replace(/\.$/, '')}`
  return `${answered}${oldest === null ? '' : `, oldest reading ${oldest}`}.`
}

/** @param listing with `_meta` */
export function describeListing({ complete, sources }: Completeness, listing: JsonValue): string {
  const meta = at(listing, '_meta')
  const registry = textAt(meta, 'registry') ?? ''
  const answer = complete
    ? 'The listing was found; every source that could have a better copy has answered.'
    : `INCOMPLETE: ${missingOf(sources)}. It may have a better copy of this listing: do not act on this copy alone.`
  const age = numberAt(meta, 'age_seconds')
  const ages = age === null ? [] : [`This copy of ${registry} is ${formatAge(age)} old.`]
  const stale = sources
    .filter(({ registry: name }) => registry === name || registry.startsWith(`${name}/`))
    .flatMap(describeStale)
  const warnings = LISTING_NOTES.flatMap(([member, words]) => {
    const names = listAt(meta, member).map(String)
    return names.length === 0 ? [] : [words(names.join(', '))]
  })
  return [answer, ...ages, ...stale, ...warnings].join(' ')
}

/** By the members of `_meta` that name better sources. */
const LISTING_NOTES: readonly (readonly [member: string, words: (names: string) => string])[] = [
  [
    'unchecked',
    (names) => `UNCHECKED: ${names} could not be asked, and may have other terms, or have it closed.`,
  ],
  [
    'not_in',
    (names) =>
      `WARNING: ${names} has this publisher without this listing: ask the seller before you pay or negotiate.`,
  ],
  [
    'disputed',
    (names) =>
      `WARNING: ${names} has this publisher at another storefront. Check the storefront before you pay or negotiate.`,
  ],
]

/** `null` where every item is checked. @param count of items with `_meta.unchecked` */
export function describeUnchecked(count: number): string | null {
  if (count === 0) return null
  const [are, them] = count === 1 ? ['is', 'it'] : ['are', 'them']
  return (
    `${plural(count, 'listing')} of this answer ${are} UNCHECKED: a better Registry, named in _meta.unchecked, could not be asked ` +
    `and may have other terms, or have ${them} closed. Call get_listing before you act on ${them}.`
  )
}

/** With `count` in words, and the values of filters that no listing can have, or has. */
export async function describeMatches(
  market: Market,
  { filters, status }: Pick<MarketQuery, 'filters' | 'status'>,
  { total, ...answer }: Completeness & { total: number },
  count: string,
  request: MarketRequest,
): Promise<string> {
  const where = answer.complete ? '' : ' in the sources that answered'
  const matches = total === 0 ? 'No listing matches' : count
  // A part of a set that no listing has is missing from what was found.
  const asked = total === 0 ? filters : filters.filter(([, value]) => isSet(value))
  const notes = asked.length === 0 ? [] : await describeValues(market, { filters: asked, status }, request)
  return [describeCompleteness(answer), `${matches}${where}.`, ...notes].join(' ')
}

async function describeValues(
  market: Market,
  { filters, status }: Pick<MarketQuery, 'filters' | 'status'>,
  request: MarketRequest,
): Promise<string[]> {
  // Counts are of open listings.
  const { filters: known } = await market.filters(request, status === 'open')
  const notes = describeUnknownValues(known, filters, shownValue)
  const paths = new Set(
    known.filter(({ name }) => filters.some(([one]) => one === name)).map(({ path }) => path),
  )
  const better =
    notes.length === 0 ? [] : BY_MEANING.filter(([path]) => paths.has(path)).map(([, words]) => words)
  return [...notes.map((note) => note.replace(/[^?]$/, '$&.')), ...better]
}

const MAX_VALUE = 64

/** A value that listings have, which is a seller's. */
export const shownValue = (value: string): string => quoted(value, MAX_VALUE)

const BY_MEANING = [
  [MODEL_PATH, 'gpu knows all spellings of a model.'],
  [REGION_PATH, 'country and continent know all spellings of a place.'],
] as const

const isSet = (value: string): boolean => /^(?:not_)?in:\[.*,/s.test(value)

const missingOf = (sources: readonly SourceNote[]): string =>
  sources.flatMap((source) => describeMissing(source) ?? []).join('; ') || 'a source did not answer'

function describeStale({ registry, state, reason, matched, age_seconds: age }: SourceNote): string[] {
  if (state !== 'stale') return []
  const cause = reason ? `did not answer (${reason})` : 'was not read again'
  const listings = typeof matched === 'number' ? plural(matched, 'matching listing') : 'listings'
  return [
    `${registry} ${cause}; its ${listings} ${matched === 1 ? 'is' : 'are'} ${formatAge(Number(age ?? 0))} old.`,
  ]
}
