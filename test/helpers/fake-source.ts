import type { ListingStatus } from '../../src/domain/listing.ts'
import { identityKey } from '../../src/domain/listing-identity.ts'
import type { ListingQuery } from '../../src/domain/query.ts'
import type { Held, HeldCopy } from '../../src/domain/source/held.ts'
import type { NamedSource } from '../../src/domain/source/named-source.ts'
import { comparePositions, isAfter, placeOf } from '../../src/domain/source/position.ts'
import type { Item, Range } from '../../src/domain/source/reading.ts'
import type { SourceReason } from '../../src/domain/source/reasons.ts'
import { SourceError } from '../../src/domain/source/source-error.ts'
import type { Micros } from '../../src/domain/timestamp.ts'
import { matchesAll } from '../../src/filter-spec/evaluate.ts'
import { documentOf } from '../../src/listing-index/document-reader.ts'
import { selectItems } from '../../src/listing-index/item-selection.ts'

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
    position,
    storefrontUrl: 'http://storefront.example/',
    publisher: null,
    ...fields,
  }
}

/** May be changed between two Readings. */
export type FakeSource = Omit<NamedSource, 'read' | 'select'> & {
  read: NamedSource['read']
  select: NamedSource['select']
  items: readonly FakeItem[]
  /** Changes the items, of which the source informs its listeners. */
  change: (edit: (items: FakeItem[]) => unknown) => void
  failure: SourceReason | null
  /** Of its listings. */
  coverage: 'whole' | 'loading'
  /** Ranges that were read, oldest first. */
  ranges: Range[]
}

/** An upstream that holds these listings, or the own Registry. */
export function fakeSource(
  name: string,
  items: readonly FakeItem[],
  options: Partial<FakeSource> = {},
): FakeSource {
  const listeners = new Set<(ids: Iterable<string>) => void>()
  const source: FakeSource = {
    name,
    visibility: 'public',
    mode: 'snapshot',
    priority: 1,
    failure: null,
    coverage: 'whole',
    ranges: [],
    change: (edit) => {
      const changed = [...source.items]
      edit(changed)
      const ids = new Set([...source.items, ...changed].map(({ listingId }) => listingId))
      source.items = changed
      for (const listener of listeners) listener(ids)
    },
    read: async (query, range) => {
      source.ranges.push(range)
      const { shown, ...info } = matchesOf(source, query)
      const behind = shown.filter((item) => isAfter(placeOf(item), range.after)).slice(range.skip ?? 0)
      return { ...info, listings: behind.slice(0, range.count), hasMore: behind.length > range.count }
    },
    select: async (query) => {
      const { shown, ...info } = matchesOf(source, query)
      return { ...selectItems(shown), ...info }
    },
    held: heldOf(() => source, listeners),
    ...options,
    items: [...items],
  }
  return source
}

/** Its items with their rows: a gateway may have several of one id. */
export function rowsOf({ items, isGateway = false, mode }: FakeSource): readonly FakeItem[] {
  const held = items.filter(({ status = 'open' }) => mode === 'local' || status === 'open')
  return isGateway ? held.map(withRow) : held
}

const ROWS = new WeakMap<FakeItem, FakeItem>()

function withRow(item: FakeItem): FakeItem {
  const before = ROWS.get(item)
  if (before !== undefined) return before
  const row = `${item.listingId}\n${identityKey(item)}`
  const own = Object.getOwnPropertyDescriptors(item)
  const made = Object.defineProperties({ row }, { ...own }) as unknown as FakeItem
  ROWS.set(item, made)
  return made
}

const rowOf = ({ listingId, row = listingId }: FakeItem): string => row

function heldOf(sourceOf: () => FakeSource, listeners: Set<(ids: Iterable<string>) => void>): Held {
  let byId: { of: readonly FakeItem[]; copies: Map<string, HeldCopy[]> } | null = null
  const copies = (): Map<string, HeldCopy[]> => {
    const { items, failure } = sourceOf()
    if (failure !== null) return new Map()
    if (byId?.of !== items) {
      const held = rowsOf(sourceOf()).map((item) => ({
        key: rowOf(item),
        item,
        status: item.status ?? 'open',
      }))
      byId = { of: items, copies: Map.groupBy(held, ({ item }) => item.listingId) }
    }
    return byId.copies
  }
  return {
    failure: ({ status }) => {
      const { name, mode, failure } = sourceOf()
      if (failure !== null) return new SourceError(failure, `${name}: scripted`)
      const isNotHeld = mode !== 'local' && status !== null && status !== 'open'
      return isNotHeld ? new SourceError('open_only', `${name}: scripted`) : null
    },
    find: (listingId) => copies().get(listingId) ?? [],
    ids: () => [...copies().values()].flat().map(({ item }) => item.listingId),
    coverage: () => sourceOf().coverage,
    prepare: () => null,
    onChange: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    follow: () => () => {},
  }
}

/** Newest first, and what a Reading says beside. @throws SourceError */
function matchesOf(source: FakeSource, query: ListingQuery) {
  const failure = source.held.failure(query)
  if (failure !== null) throw failure
  const isIn = (item: FakeItem, rows: ListingQuery['hidden'] = []): boolean =>
    rows.some(({ keys }) => keys.has(rowOf(item)))
  const all = listed(source, query).filter((item) => !isIn(item, query.denied))
  const shown = all.filter((item) => !isIn(item, query.hidden))
  const part = source.coverage === 'whole' ? undefined : { state: source.coverage }
  return { shown, total: shown.length, hidden: all.length - shown.length, asOf: 0, stale: false, part }
}

function listed(source: FakeSource, query: ListingQuery): FakeItem[] {
  const { status, listingId, publisher, criteria, priceLimit } = query
  const isAll = criteria.length === 0 && priceLimit === undefined
  return rowsOf(source)
    .filter((item) => listingId === undefined || item.listingId === listingId)
    .filter((item) => status === null || (item.status ?? 'open') === status)
    .filter((item) => publisher === null || item.publisher === publisher)
    .filter((item) => isAll || matchesAll(criteria, documentOf(item.bytes), priceLimit))
    .toSorted((a, b) => comparePositions(placeOf(a), placeOf(b)))
}
