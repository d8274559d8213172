import {
  bothFilters,
  type HiddenRows,
  type ListingQuery,
  NO_FILTER,
  type StandingFilter,
} from '../domain/query.ts'
import type { Held, Whole } from '../domain/source/held.ts'
import { DIRECTORY, joinMissing } from '../domain/source/missing-source.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import { isAfter } from '../domain/source/position.ts'
import { FULL_RANGE, type Item, type Range, type Reading, type Source } from '../domain/source/reading.ts'
import type { SourceReason } from '../domain/source/reasons.ts'
import { SourceError } from '../domain/source/source-error.ts'
import { inTurns } from '../domain/turns.ts'
import { filterNameOf } from '../filter-spec/parameters.ts'
import { isReadable } from './deciders.ts'

/** What the operator leaves out of one source, for every reader. Such copies decide nothing. */
export type Denials = {
  /** Another number whenever rules change. */
  readonly version: number
  /** Whether there are any now. */
  isActive: () => boolean
  denies: (item: Item) => boolean
  /** Of one that is denied: whether it is for no other reason than that its publisher is not known. */
  isUncertain: (item: Item) => boolean
  /** What does not match is denied. A source in memory applies it, and another can be asked for it. */
  only: StandingFilter
  /** Whether copies that match are denied, too: by their publisher, storefront or id. */
  deniesSubjects: () => boolean
  /** Those of them that are in memory. */
  rows: HiddenRows
  deniesPublisher: (publisher: string) => boolean
  /** Whether some of the rows are denied since their publisher is not known. */
  hidesUnknown: () => boolean
  /** Of what is shown; `null`: none. */
  label: string | null
  /** Calls back in the turn in which rules change, with the ids that they may concern. */
  onChange: (listener: (listingIds: Iterable<string>) => void) => () => void
}

/** Gives only copies that the filter of the view and the operator's rules let pass, whatever the source can be asked. */
export function restrictSource(source: NamedSource, denials: Denials | null): NamedSource {
  const { held, readWhole, lookUp, select, storefrontOf } = source
  const inMemory = restrictQueries(denials)
  const hidesUnknown = () => denials?.hidesUnknown() === true
  const read: Source = async (query, range, signal) => {
    if (query.listingId !== undefined) return withoutDenied(await source.read(query, range, signal), denials)
    if (held?.answers(query) === true)
      return markUnknown(await source.read(inMemory(query), range, signal), hidesUnknown())
    return readRestricted(source, query, { range, signal, denials })
  }
  return {
    ...source,
    // It changes between memory and live.
    get mode() {
      return source.mode
    },
    ...(denials?.label && { label: denials.label }),
    ...(denials && {
      denied: [...(source.denied ?? []), denials.rows],
      rules: { version: () => denials.version, denies: (item: Item) => isDenied(item, denials) },
    }),
    read: (query, range, signal) => whileRulesHold(denials, () => read(query, range, signal)),
    ...(select && {
      select: (query, signal) =>
        whileRulesHold(denials, async () =>
          markUnknown(await select(inMemory(query), signal), hidesUnknown()),
        ),
    }),
    ...(held && { held: denials === null ? held : restrictHeld(held, denials) }),
    ...(readWhole && {
      readWhole: async (query, signal) => {
        const whole = await readWhole(query, signal)
        return whole === null || denials?.isActive() !== true ? whole : restrictWhole(whole, denials)
      },
    }),
    ...(lookUp && {
      lookUp: async (listings, query, signal) =>
        (await lookUp(listings, query, signal)).map((copy) =>
          copy && isDenied(copy, denials) ? null : copy,
        ),
    }),
    ...(storefrontOf && { storefrontOf: restrictDirectory(storefrontOf, denials) }),
  }
}

/** All ranges of one query are asked with one object, by which a source in memory remembers its scan. */
function restrictQueries(denials: Denials | null): (query: ListingQuery) => ListingQuery {
  const { only = NO_FILTER } = denials ?? {}
  if (only.criteria.length === 0) return (query) => query
  const restricted = new WeakMap<ListingQuery, ListingQuery>()
  return (query) => {
    const before = restricted.get(query)
    if (before !== undefined) return before
    const { standing = NO_FILTER } = query
    const asked = { ...query, standing: bothFilters(standing, only), madeOf: query.madeOf ?? query }
    restricted.set(query, asked)
    return asked
  }
}

type StorefrontOf = NonNullable<NamedSource['storefrontOf']>

/** A denied publisher is not known here, and the own Registry knows those with a listing that is shown. */
function restrictDirectory(storefrontOf: StorefrontOf, denials: Denials | null): StorefrontOf {
  if (denials === null) return storefrontOf
  return (publisher, within = {}) => {
    if (!denials.isActive()) return storefrontOf(publisher, within)
    if (denials.deniesPublisher(publisher)) return undefined
    const { standing = NO_FILTER, denied = [] } = within
    return storefrontOf(publisher, {
      standing: bothFilters(standing, denials.only),
      denied: [...denied, denials.rows],
    })
  }
}

/** An answer is made again once rules have changed. */
async function whileRulesHold<Info extends Pick<Reading, 'isCurrent'>>(
  denials: Denials | null,
  read: () => Promise<Info>,
): Promise<Info> {
  const version = denials?.version
  const info = await read()
  const { isCurrent } = info
  if (denials === null || isCurrent === undefined) return info
  return { ...info, isCurrent: (now?: number) => denials.version === version && isCurrent(now) }
}

function restrictHeld(held: Held, denials: Denials): Held {
  const { version } = held
  return {
    ...held,
    ...(version && { version: () => `${version()}.${denials.version}` }),
    find: (listingId) => {
      const copies = held.find(listingId)
      return denials.isActive() ? copies.filter(({ item }) => !denials.denies(item)) : copies
    },
    onChange: (listener) => {
      const ends = [held.onChange(listener), denials.onChange(listener)]
      return () => {
        for (const end of ends) end()
      }
    },
  }
}

function restrictWhole(whole: Whole, denials: Denials): Whole {
  return {
    ...whole,
    find: (listingId) => whole.find(listingId).filter((item) => isReadable(item) && !isDenied(item, denials)),
  }
}

function withoutDenied(reading: Reading, denials: Denials | null): Reading {
  const denied = new Set(reading.listings.filter((item) => isReadable(item) && isDenied(item, denials)))
  const listings = reading.listings.filter((item) => !denied.has(item))
  return markUnknown(
    { ...reading, listings, total: reading.total - denied.size },
    hasUncertain(denied, denials),
  )
}

/** An answer without copies that may be of a denied publisher is incomplete. */
function markUnknown<Info extends Pick<Reading, 'missing'>>(info: Info, isUnknown: boolean): Info {
  return isUnknown ? { ...info, missing: joinMissing(info.missing, DIRECTORY) } : info
}

function hasUncertain(denied: Iterable<Item>, denials: Denials | null): boolean {
  return Iterator.from(denied).some((item) => denials?.isUncertain(item) === true)
}

function isDenied(item: Item, denials: Denials | null): boolean {
  return denials?.isActive() === true && denials.denies(item)
}

type Restriction = {
  range: Range
  signal: AbortSignal
  denials: Denials | null
}

/**
 * A source that is not in memory is read whole: which of its copies exist depends on those of better sources, and on rules that no
 * source applies. One that is too large is asked for the filters of the view and of the rules, where the reader does not use
 * the same names.
 */
async function readRestricted(
  source: NamedSource,
  query: ListingQuery,
  { range, signal, denials }: Restriction,
): Promise<Reading> {
  const { standing = NO_FILTER } = query
  if (standing.criteria.length === 0 && denials?.isActive() !== true) return source.read(query, range, signal)
  const asked = { ...query, standing: undefined, madeOf: query.madeOf ?? query }
  try {
    const reading = await source.read(asked, FULL_RANGE, signal)
    return await inTurns(cutOut(reading, range, denials))
  } catch (error) {
    if (!(error instanceof SourceError) || !TOO_LARGE.includes(error.reason)) throw error
    const kept = bothFilters(standing, denials?.only ?? NO_FILTER)
    if (denials?.deniesSubjects() === true || !canJoin(query, kept)) throw error
    const reading = await readMatching(source, asked, kept, { range, signal })
    return withoutDenied(reading, denials)
  }
}

/** Of two values of a name the last one counts. */
function canJoin(query: ListingQuery, { criteria, filters }: StandingFilter): boolean {
  const names = new Set(criteria.map(({ filter }) => filter.name))
  return names.size === filters.length && !query.filters.some(([name]) => names.has(filterNameOf(name)))
}

const TOO_LARGE: readonly SourceReason[] = ['scan_limit', 'unsupported_filter']

/** @throws SourceError `scan_limit` where the source does not declare these filters */
async function readMatching(
  source: NamedSource,
  query: ListingQuery,
  standing: StandingFilter,
  { range, signal }: Pick<Restriction, 'range' | 'signal'>,
): Promise<Reading> {
  const criteria = [...query.criteria, ...standing.criteria]
  const filters = [...query.filters, ...standing.filters]
  try {
    return await source.read({ ...query, criteria, filters }, range, signal)
  } catch (error) {
    if (!(error instanceof SourceError) || error.filters.length === 0) throw error
    const asked = error.filters.filter((name) => query.criteria.some(({ filter }) => filter.name === name))
    if (asked.length > 0) throw new SourceError(error.reason, error.message, { filters: asked })
    throw new SourceError(
      'scan_limit',
      `${source.name}: has too many listings to read all of them for the filters of the view or the rules`,
    )
  }
}

/** In steps of one listing: the range of what is not left out. Unreadable copies stay, and are counted later. */
function* cutOut(reading: Reading, range: Range, denials: Denials | null): Generator<void, Reading> {
  const all: Item[] = []
  const denied: Item[] = []
  for (const item of reading.listings) {
    if (isReadable(item) && isDenied(item, denials)) denied.push(item)
    else all.push(item)
    yield
  }
  const start = range.after === null ? 0 : all.findIndex((item) => isAfter(item, range.after))
  const from = start === -1 ? all.length : start
  const listings = all.slice(from, from + range.count)
  const isPartial = from > 0 || listings.length < all.length
  return {
    ...markUnknown(reading, hasUncertain(denied, denials)),
    listings,
    hasMore: from + listings.length < all.length,
    total: all.length,
    ...(isPartial || reading.all !== undefined ? { all } : {}),
  }
}
