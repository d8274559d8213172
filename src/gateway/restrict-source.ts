import { type HiddenRows, type ListingQuery, NO_FILTER, type StandingFilter } from '../domain/query.ts'
import type { Held, Whole } from '../domain/source/held.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import { isAfter } from '../domain/source/position.ts'
import { FULL_RANGE, type Item, type Range, type Reading } from '../domain/source/reading.ts'
import { SourceError } from '../domain/source/source-error.ts'
import { inTurns } from '../domain/turns.ts'
import { matchesAll } from '../filter-spec/evaluate.ts'
import { filterNameOf } from '../filter-spec/parameters.ts'
import { documentOf } from '../listing-index/document-reader.ts'
import { isReadable } from './deciders.ts'

/** What the operator leaves out of one source, for every reader. Such copies decide nothing. */
export type Denials = {
  /** Whether there are any now. */
  isActive: () => boolean
  /** @throws SyntaxError for an unreadable copy */
  denies: (item: Item) => boolean
  /** Copies in memory that `denies` holds for, but those outside of `only`. */
  rows: HiddenRows
  /** Filters that every copy of the source has to match. */
  only: StandingFilter
  /** Calls back in the turn in which rules change, with the ids that they may concern. */
  onChange: (listener: (listingIds: Iterable<string>) => void) => () => void
}

/** Gives only copies that the filter of the view and the operator's rules let pass, whatever the source can be asked. */
export function restrictSource(source: NamedSource, denials: Denials | null): NamedSource {
  const { held, readWhole, lookUp, select } = source
  const asked = new WeakMap<ListingQuery, ListingQuery>()
  const only = denials?.only ?? NO_FILTER
  /** The same object for all ranges, by which a source in memory knows what it has scanned. */
  const within = (query: ListingQuery): ListingQuery => {
    if (only.criteria.length === 0 || query.listingId !== undefined) return query
    const known = asked.get(query) ?? { ...query, standing: joinFilters(query.standing, only) }
    asked.set(query, known)
    return known
  }
  const isDenied = (item: Item): boolean => denials?.isActive() === true && denials.denies(item)
  return {
    ...source,
    // It changes between memory and live.
    get mode() {
      return source.mode
    },
    ...(denials && { denied: denials.rows }),
    read: async (query, range, signal) => {
      const asked = within(query)
      if (query.listingId !== undefined)
        return withoutDenied(await source.read(asked, range, signal), isDenied)
      if (held?.answers(query) === true) return source.read(asked, range, signal)
      return readRestricted(source, asked, {
        range,
        signal,
        isDenied,
        isActive: denials?.isActive() === true,
      })
    },
    ...(select && { select: (query, signal) => select(within(query), signal) }),
    ...(held && { held: denials === null ? held : restrictHeld(held, denials, isDenied) }),
    ...(readWhole && {
      readWhole: async (query, signal) => {
        const whole = await readWhole(query, signal)
        return whole === null || denials?.isActive() !== true ? whole : restrictWhole(whole, isDenied)
      },
    }),
    ...(lookUp && {
      lookUp: async (listings, query, signal) =>
        (await lookUp(listings, query, signal)).map((copy) => (copy && isDenied(copy) ? null : copy)),
    }),
  }
}

function joinFilters(one: StandingFilter = NO_FILTER, other: StandingFilter): StandingFilter {
  if (one.criteria.length === 0) return other
  return {
    criteria: [...one.criteria, ...other.criteria],
    filters: [...one.filters, ...other.filters],
    key: JSON.stringify([one.key, other.key]),
  }
}

function restrictHeld(held: Held, denials: Denials, isDenied: (item: Item) => boolean): Held {
  return {
    ...held,
    find: (listingId) => {
      const copies = held.find(listingId)
      return denials.isActive() ? copies.filter(({ item }) => !isDenied(item)) : copies
    },
    onChange: (listener) => {
      const ends = [held.onChange(listener), denials.onChange(listener)]
      return () => {
        for (const end of ends) end()
      }
    },
  }
}

function restrictWhole(whole: Whole, isDenied: (item: Item) => boolean): Whole {
  return {
    ...whole,
    find: (listingId) => whole.find(listingId).filter((item) => isReadable(item) && !isDenied(item)),
  }
}

function withoutDenied(reading: Reading, isDenied: (item: Item) => boolean): Reading {
  const listings = reading.listings.filter((item) => !isReadable(item) || !isDenied(item))
  return { ...reading, listings, total: reading.total - (reading.listings.length - listings.length) }
}

type Restriction = { range: Range; signal: AbortSignal; isDenied: (item: Item) => boolean; isActive: boolean }

/** A source that is not in memory is sent what it declares, and is read whole for the rest. */
async function readRestricted(
  source: NamedSource,
  query: ListingQuery,
  { range, signal, isDenied, isActive }: Restriction,
): Promise<Reading> {
  const { standing = NO_FILTER } = query
  if (standing.criteria.length === 0 && !isActive) return source.read(query, range, signal)
  const names = new Set(standing.criteria.map(({ filter }) => filter.name))
  const isAsked = query.filters.some(([name]) => names.has(filterNameOf(name)))
  const asked: ListingQuery = isAsked
    ? { ...query, standing: undefined }
    : {
        ...query,
        standing: undefined,
        criteria: [...query.criteria, ...standing.criteria],
        filters: [...query.filters, ...standing.filters],
      }
  const evaluated = isAsked ? standing.criteria : []
  const isWhole = isActive || evaluated.length > 0
  const reading = await source.read(asked, isWhole ? FULL_RANGE : range, signal).catch((error: unknown) => {
    throw withoutNames(error, isAsked ? new Set() : names, source.name)
  })
  const explained = isAsked ? reading : withoutExplanation(reading, names)
  if (!isWhole) return explained
  const isLeftOut = (item: Item): boolean =>
    isDenied(item) || (evaluated.length > 0 && !matchesAll(evaluated, documentOf(item.bytes)))
  return inTurns(cutOut(explained, range, isLeftOut))
}

/** Hides the filters of the view from its readers. */
function withoutNames(error: unknown, names: ReadonlySet<string>, source: string): unknown {
  if (!(error instanceof SourceError) || error.filters.length === 0) return error
  const filters = error.filters.filter((name) => !names.has(name))
  if (filters.length === error.filters.length) return error
  const { message, reason } = error
  return filters.length === 0
    ? new SourceError('scan_limit', `${source}: has too many listings to read all for this view`)
    : new SourceError(reason, message, { filters })
}

function withoutExplanation(reading: Reading, names: ReadonlySet<string>): Reading {
  const { explanation } = reading
  if (explanation === undefined) return reading
  const pairs = explanation.sent
    ?.split('&')
    .filter((pair) => !names.has(filterNameOf(decodeURIComponent(pair.split('=', 1)[0]!))))
  return {
    ...reading,
    explanation: {
      sent: pairs?.join('&'),
      excluded: explanation.excluded.filter(({ filter }) => !names.has(filter)),
    },
  }
}

/** In steps of one listing: the range of what is not left out. Unreadable copies stay, and are counted later. */
function* cutOut(
  reading: Reading,
  range: Range,
  isLeftOut: (item: Item) => boolean,
): Generator<void, Reading> {
  const all: Item[] = []
  for (const item of reading.listings) {
    if (!isReadable(item) || !isLeftOut(item)) all.push(item)
    yield
  }
  const start = range.after === null ? 0 : all.findIndex((item) => isAfter(item, range.after))
  const from = start === -1 ? all.length : start
  const listings = all.slice(from, from + range.count)
  const isPartial = from > 0 || listings.length < all.length
  return {
    ...reading,
    listings,
    hasMore: from + listings.length < all.length,
    total: all.length,
    ...(isPartial || reading.all !== undefined ? { all } : {}),
  }
}
