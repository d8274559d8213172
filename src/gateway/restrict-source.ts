import { type HiddenRows, type ListingQuery, NO_FILTER, type StandingFilter } from '../domain/query.ts'
import type { Held, Whole } from '../domain/source/held.ts'
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
  /** Raised whenever rules change. */
  readonly version: number
  /** Whether there are any now. */
  isActive: () => boolean
  /** @throws SyntaxError for an unreadable copy */
  denies: (item: Item) => boolean
  /** Copies in memory that `denies` holds for. */
  rows: HiddenRows
  /** Calls back in the turn in which rules change, with the ids that they may concern. */
  onChange: (listener: (listingIds: Iterable<string>) => void) => () => void
}

/** Gives only copies that the filter of the view and the operator's rules let pass, whatever the source can be asked. */
export function restrictSource(source: NamedSource, denials: Denials | null): NamedSource {
  const { held, readWhole, lookUp, select } = source
  const isDenied = (item: Item): boolean => denials?.isActive() === true && denials.denies(item)
  const read: Source = async (query, range, signal) => {
    if (query.listingId !== undefined) return withoutDenied(await source.read(query, range, signal), isDenied)
    if (held?.answers(query) === true) return source.read(query, range, signal)
    return readRestricted(source, query, {
      range,
      signal,
      isDenied,
      isActive: denials?.isActive() === true,
    })
  }
  return {
    ...source,
    // It changes between memory and live.
    get mode() {
      return source.mode
    },
    ...(denials && { denied: [...(source.denied ?? []), denials.rows] }),
    read: async (query, range, signal) => whileRulesHold(denials, await read(query, range, signal)),
    ...(select && {
      select: async (query, signal) => whileRulesHold(denials, await select(query, signal)),
    }),
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

/** An answer is made again once rules have changed. */
function whileRulesHold<Info extends Pick<Reading, 'isCurrent'>>(denials: Denials | null, info: Info): Info {
  const { isCurrent } = info
  if (denials === null || isCurrent === undefined) return info
  const { version } = denials
  return { ...info, isCurrent: (now?: number) => denials.version === version && isCurrent(now) }
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

type Restriction = {
  range: Range
  signal: AbortSignal
  isDenied: (item: Item) => boolean
  isActive: boolean
}

/**
 * A source that is not in memory is read whole: which of its copies exist depends on those of better sources. One that is too large
 * is asked for what matches the filter of the view, where the reader does not use the same names.
 */
async function readRestricted(
  source: NamedSource,
  query: ListingQuery,
  { range, signal, isDenied, isActive }: Restriction,
): Promise<Reading> {
  const { standing = NO_FILTER } = query
  if (standing.criteria.length === 0 && !isActive) return source.read(query, range, signal)
  const asked = { ...query, standing: undefined, madeOf: query.madeOf ?? query }
  try {
    const reading = await source.read(asked, FULL_RANGE, signal)
    return await inTurns(cutOut(withoutExplanation(reading), range, isDenied))
  } catch (error) {
    if (isActive || !(error instanceof SourceError) || !TOO_LARGE.includes(error.reason)) throw error
    const names = new Set(standing.criteria.map(({ filter }) => filter.name))
    if (query.filters.some(([name]) => names.has(filterNameOf(name)))) throw error
    return readMatching(source, asked, standing, { range, signal })
  }
}

const TOO_LARGE: readonly SourceReason[] = ['scan_limit', 'unsupported_filter']

/** @throws SourceError `scan_limit` where the source does not declare the filters of the view */
async function readMatching(
  source: NamedSource,
  query: ListingQuery,
  standing: StandingFilter,
  { range, signal }: Pick<Restriction, 'range' | 'signal'>,
): Promise<Reading> {
  const criteria = [...query.criteria, ...standing.criteria]
  const filters = [...query.filters, ...standing.filters]
  try {
    const { explanation: _, ...reading } = await source.read({ ...query, criteria, filters }, range, signal)
    return reading
  } catch (error) {
    if (!(error instanceof SourceError) || error.filters.length === 0) throw error
    const asked = error.filters.filter((name) => query.criteria.some(({ filter }) => filter.name === name))
    if (asked.length > 0) throw new SourceError(error.reason, error.message, { filters: asked })
    throw new SourceError('scan_limit', `${source.name}: has too many listings to read all for this view`)
  }
}

/** What filters exclude is of listings outside the view, too. */
function withoutExplanation(reading: Reading): Reading {
  const { explanation } = reading
  return explanation === undefined ? reading : { ...reading, explanation: { ...explanation, excluded: [] } }
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
