import {
  bothFilters,
  type HiddenRows,
  type ListingQuery,
  NO_FILTER,
  type StandingFilter,
} from '../domain/query.ts'
import type { Held } from '../domain/source/held.ts'
import { DIRECTORY, joinMissing } from '../domain/source/missing-source.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import type { Item, Reading } from '../domain/source/reading.ts'
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
  /** What does not match is denied. */
  only: StandingFilter
  /** Whether copies that match are denied, too: by their publisher, storefront or id. */
  deniesSubjects: () => boolean
  /** Those of them that are held. */
  rows: HiddenRows
  deniesPublisher: (publisher: string) => boolean
  /** Whether some of the rows are denied since their publisher is not known. */
  hidesUnknown: () => boolean
  /** Of what is shown; `null`: none. */
  label: string | null
  /** Calls back in the turn in which rules change, with the ids that they may concern. */
  onChange: (listener: (listingIds: Iterable<string>) => void) => () => void
}

/** Gives only copies that the operator's rules let pass. */
export function restrictSource(source: NamedSource, denials: Denials | null): NamedSource {
  if (denials === null) return source
  const { held, storefrontOf } = source
  const restricted = restrictQueries(denials)
  return {
    ...source,
    ...(denials.label && { label: denials.label }),
    denied: [...(source.denied ?? []), denials.rows],
    rules: { version: () => denials.version, denies: (item: Item) => isDenied(item, denials) },
    read: (query, range, signal) =>
      whileRulesHold(denials, async () => {
        if (query.listingId !== undefined)
          return withoutDenied(await source.read(query, range, signal), denials)
        return markUnknown(await source.read(restricted(query), range, signal), denials.hidesUnknown())
      }),
    select: (query, signal) =>
      whileRulesHold(denials, async () =>
        markUnknown(await source.select(restricted(query), signal), denials.hidesUnknown()),
      ),
    held: restrictHeld(held, denials),
    ...(storefrontOf && { storefrontOf: restrictDirectory(storefrontOf, denials) }),
  }
}

/** All ranges of one query are asked with one object, by which a source in memory remembers its scan. */
function restrictQueries({ only }: Denials): (query: ListingQuery) => ListingQuery {
  if (only.criteria.length === 0) return (query) => query
  const restricted = new WeakMap<ListingQuery, ListingQuery>()
  return (query) => {
    const before = restricted.get(query)
    if (before !== undefined) return before
    const { standing = NO_FILTER } = query
    const asked = { ...query, standing: bothFilters(standing, only) }
    restricted.set(query, asked)
    return asked
  }
}

type StorefrontOf = NonNullable<NamedSource['storefrontOf']>

/** A denied publisher is not known here, and the own Registry knows those with a listing that is shown. */
function restrictDirectory(storefrontOf: StorefrontOf, denials: Denials): StorefrontOf {
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
  denials: Denials,
  read: () => Promise<Info>,
): Promise<Info> {
  const { version } = denials
  const info = await read()
  const { isCurrent } = info
  if (isCurrent === undefined) return info
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

function withoutDenied(reading: Reading, denials: Denials): Reading {
  const denied = new Set(reading.listings.filter((item) => isReadable(item) && isDenied(item, denials)))
  const listings = reading.listings.filter((item) => !denied.has(item))
  const isUncertain = Iterator.from(denied).some((item) => denials.isUncertain(item))
  return markUnknown({ ...reading, listings, total: reading.total - denied.size }, isUncertain)
}

/** An answer without copies that may be of a denied publisher is incomplete. */
function markUnknown<Info extends Pick<Reading, 'missing'>>(info: Info, isUnknown: boolean): Info {
  return isUnknown ? { ...info, missing: joinMissing(info.missing, DIRECTORY) } : info
}

function isDenied(item: Item, denials: Denials): boolean {
  return denials.isActive() && denials.denies(item)
}
