import type { ListingStatus } from '../../src/domain/listing.ts'
import { isSameListing } from '../../src/domain/listing-identity.ts'
import type { ListingQuery } from '../../src/domain/query.ts'
import type { Held, HeldCopy, SoughtListing } from '../../src/domain/source/held.ts'
import type { NamedSource } from '../../src/domain/source/named-source.ts'
import { comparePositions, isAfter } from '../../src/domain/source/position.ts'
import type { Item, Range, Reading } from '../../src/domain/source/reading.ts'
import type { SourceReason } from '../../src/domain/source/reasons.ts'
import { SourceError } from '../../src/domain/source/source-error.ts'
import type { Micros } from '../../src/domain/timestamp.ts'
import { matchesAll } from '../../src/filter-spec/evaluate.ts'
import { documentOf } from '../../src/listing-index/document-reader.ts'

/** Default status: open. */
export type FakeItem = Item & { status?: ListingStatus }

type ItemOptions = Partial<FakeItem> & { offer?: object; escrows?: object[] }

/** A listing with its id, date, `offer` and `escrows` in its document. */
export function fakeItem(
  listingId: string,
  position: Micros,
  { offer = {}, escrows = [], ...fields }: ItemOptions = {},
): FakeItem {
  const document = {
    listing_id: listingId,
    created_at: position,
    offer_resource: offer,
    accepted_escrows: escrows,
  }
  return {
    bytes: Buffer.from(JSON.stringify(document)),
    listingId,
    createdAt: position,
    position,
    storefrontUrl: 'http://storefront.example/',
    publisher: null,
    ...fields,
  }
}

/** `memory`: all is held. `whole`: live, and small enough to be read whole. `large`: too large, with look-ups. */
export type FakeKind = 'memory' | 'whole' | 'large'

/** May be changed between two Readings. */
export type FakeSource = Omit<NamedSource, 'read'> & {
  read: NamedSource['read']
  kind: FakeKind
  items: readonly FakeItem[]
  /** Changes the items, of which a source in memory informs its listeners. */
  change: (edit: (items: FakeItem[]) => unknown) => void
  /** Listings of each Reading beyond the requested range. */
  surplus: number
  failure: SourceReason | null
  /** Ranges that were read, oldest first. Not those that read it whole. */
  ranges: Range[]
  /** How often it was read whole. */
  wholeReads: number
  /** Whether look-ups are answered. */
  isLookedUp: boolean
  /** Listings that were looked up, by request. */
  lookUps: (readonly SoughtListing[])[]
}

/** A source with these listings and exact answers; live and small by default. */
export function fakeSource(
  name: string,
  items: readonly FakeItem[],
  { kind = 'whole', ...options }: Partial<FakeSource> = {},
): FakeSource {
  const listeners = new Set<(ids: Iterable<string>) => void>()
  const source: FakeSource = {
    name,
    visibility: 'public',
    mode: kind === 'memory' ? 'snapshot' : 'live',
    priority: 1,
    kind,
    surplus: 0,
    failure: null,
    ranges: [],
    wholeReads: 0,
    isLookedUp: true,
    lookUps: [],
    change: (edit) => {
      const changed = [...source.items]
      edit(changed)
      const ids = new Set([...source.items, ...changed].map(({ listingId }) => listingId))
      source.items = changed
      for (const listener of listeners) listener(ids)
    },
    read: async (query, range) => {
      source.ranges.push(range)
      return readFake(source, query, range)
    },
    ...(kind === 'memory' && { held: heldOf(() => source, listeners) }),
    readWhole: async (query) => {
      source.wholeReads++
      requireAnswer(source)
      if (source.kind === 'large') return null
      const listings = listed(source, { ...query, publisher: null, criteria: [], filters: [] })
      const byId = Map.groupBy(listings, ({ listingId }) => listingId)
      return {
        find: (id) => byId.get(id) ?? [],
        // As of a run, once for each listing.
        ids: () => listings.map(({ listingId }) => listingId),
      }
    },
    lookUp: async (listings, { status }) => {
      source.lookUps.push(listings)
      return listings.map((sought) => {
        if (!source.isLookedUp || source.failure !== null) return undefined
        const isSought = (item: FakeItem): boolean =>
          item.listingId === sought.listingId && isSameListing(item, sought) && hasStatus(item, status)
        return source.items.find(isSought) ?? null
      })
    },
    ...options,
    items: [...items],
  }
  // Scripted answers decide, too.
  if (options.read !== undefined) delete source.readWhole
  return source
}

const KEYS = new WeakMap<Item, string>()
let keys = 0

/** Of its row in a source in memory. */
export function rowKey(item: Item): string {
  const key = KEYS.get(item) ?? `row ${++keys}`
  KEYS.set(item, key)
  return key
}

function heldOf(sourceOf: () => FakeSource, listeners: Set<(ids: Iterable<string>) => void>): Held {
  let byId: { of: readonly FakeItem[]; copies: Map<string, HeldCopy[]> } | null = null
  const copies = (): Map<string, HeldCopy[]> => {
    const { items, mode, failure } = sourceOf()
    if (failure !== null) return new Map()
    if (byId?.of !== items) {
      const held = items
        .filter((item) => mode === 'local' || hasStatus(item, 'open'))
        .map((item) => ({ key: rowKey(item), item, status: item.status ?? 'open' }))
      byId = { of: items, copies: Map.groupBy(held, ({ item }) => item.listingId) }
    }
    return byId.copies
  }
  return {
    answers: ({ status, listingId }) => {
      const { mode, failure } = sourceOf()
      return failure === null && (mode === 'local' || (status === 'open' && listingId === undefined))
    },
    find: (listingId) => copies().get(listingId) ?? [],
    ids: () => [...copies().values()].flat().map(({ item }) => item.listingId),
    coverage: () => 'whole',
    prepare: () => null,
    onChange: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    follow: () => () => {},
  }
}

function readFake(source: FakeSource, query: ListingQuery, range: Range): Reading {
  requireAnswer(source)
  const { kind, name, surplus, held } = source
  if (kind === 'large' && range.count === Number.POSITIVE_INFINITY)
    throw new SourceError('scan_limit', `${name}: scripted`)
  const isHeld = held?.answers(query) === true
  const all = listed(source, query)
  const isHidden = (item: Item): boolean => query.hidden?.some(({ keys }) => keys.has(rowKey(item))) === true
  const sorted = isHeld ? all.filter((item) => !isHidden(item)) : all
  const behind = sorted.flatMap((item, offset) =>
    isAfter(item, range.after) ? [isHeld ? item : withOffset(item, offset)] : [],
  )
  const listings = behind.slice(0, range.count + surplus)
  return {
    listings,
    hasMore: listings.length < behind.length,
    total: sorted.length,
    hidden: all.length - sorted.length,
    asOf: 0,
    stale: false,
    ...(!isHeld && kind !== 'large' && { all: sorted }),
  }
}

/** Of an unreadable item, too. */
function withOffset(item: FakeItem, offset: number): FakeItem {
  const own = Object.getOwnPropertyDescriptors(item)
  return Object.defineProperties({ offset }, { ...own }) as FakeItem
}

function requireAnswer({ name, failure }: FakeSource): void {
  if (failure !== null) throw new SourceError(failure, `${name}: scripted`)
}

/** Matches, newest first. */
function listed({ items }: FakeSource, query: ListingQuery): FakeItem[] {
  const { status, listingId, publisher, criteria, priceLimit } = query
  const isAll = criteria.length === 0 && priceLimit === undefined
  return items
    .filter((item) => listingId === undefined || item.listingId === listingId)
    .filter((item) => hasStatus(item, status))
    .filter((item) => publisher === null || item.publisher === publisher)
    .filter((item) => isAll || matchesAll(criteria, documentOf(item.bytes), priceLimit))
    .toSorted(comparePositions)
}

function hasStatus({ status = 'open' }: FakeItem, asked: ListingStatus | null): boolean {
  return asked === null || status === asked
}
