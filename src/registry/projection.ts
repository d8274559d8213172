import type { ApiKey } from '../domain/api-key.ts'
import type { Block } from '../domain/block.ts'
import { Emitter } from '../domain/emitter.ts'
import { type ListingRecord, renderListing, rowHead } from '../domain/listing.ts'
import type { ListingIdentity } from '../domain/listing-identity.ts'
import { identitiesOf, type Publisher, type PublisherIdentity } from '../domain/publisher.ts'
import { randomId } from '../domain/random-id.ts'
import type { HeldCopy } from '../domain/source/held.ts'
import { HeldChanges } from '../domain/source/held-changes.ts'
import type { Item } from '../domain/source/reading.ts'
import { inTurns } from '../domain/turns.ts'
import type { Filter } from '../filter-spec/filter.ts'
import { JsonScanner } from '../json/scanner.ts'
import { type IndexRow, ListingIndex } from '../listing-index/listing-index.ts'
import { publisherOf, readPublisher } from '../signing/principal.ts'
import type { Change } from '../store/commands.ts'
import type { Tables } from '../vocabulary/meaning.ts'
import type { Vocabulary } from '../vocabulary/vocabulary.ts'
import type { SegmentSettings } from './load/build-segment.ts'

export class Projection {
  readonly id = randomId()
  readonly listings: ListingIndex
  /** Of its listings, and of what their publishers add to them. */
  readonly changes = new HeldChanges()
  readonly #publishers = new Map<number, Publisher>()
  /** By scheme and identifier. */
  readonly #publisherIds = new Map<string, Map<string, number>>()
  readonly #keys = new Map<string, ApiKey>()
  readonly #blocks = new Map<number, Block>()
  readonly #blockChanges = new Emitter<void>()
  /** Calls back in the turn in which a block begins or ends. */
  readonly onBlock = this.#blockChanges.listen
  readonly #storefrontUpdates = new Map<number, Promise<void>>()

  readonly tables: Tables

  /** @param filters all that readers may use */
  constructor(filters: Iterable<Filter>, { tables }: Pick<Vocabulary, 'tables'>) {
    this.listings = new ListingIndex(filters)
    this.tables = tables
  }

  publisher(id: number): Publisher | null {
    return this.#publishers.get(id) ?? null
  }

  /** Also by an identity that it has replaced. For `eip191` the identifier is the lower-cased address. */
  publisherOf({ scheme, identifier }: PublisherIdentity): Publisher | null {
    const id = this.#publisherIds.get(scheme)?.get(identifier)
    return id === undefined ? null : this.publisher(id)
  }

  /** By the text of readers: the address of a wallet, or the scheme and the identifier. */
  publisherNamed(text: string): Publisher | null {
    // A gateway asks for each listing, and may have no publishers of its own.
    if (this.#publishers.size === 0) return null
    return this.publisherOf(readPublisher(text) ?? { scheme: 'eip191', identifier: text })
  }

  /** In the order of their first listing, oldest first. */
  get publishers(): ReadonlyMap<number, Publisher> {
    return this.#publishers
  }

  ownerOf(listingId: string): Publisher | null {
    const row = this.listings.get(listingId)
    return row === undefined ? null : this.publisher(row.publisherId)
  }

  isOwnedByAnother(listingId: string, identity: PublisherIdentity): boolean {
    const owner = this.ownerOf(listingId)
    return owner !== null && owner !== this.publisherOf(identity)
  }

  readonly copiesOf = (listingId: string): readonly HeldCopy[] => {
    const row = this.listings.get(listingId)
    return row === undefined ? NONE : [{ key: listingId, item: this.itemOf(row), status: row.status }]
  }

  itemOf({ bytes, listingId, createdAt, publisherId, meaning, terms }: IndexRow): Item {
    const about = { bytes, listingId, createdAt, position: createdAt, meaning, terms }
    return { ...about, ...this.identityOf(publisherId) }
  }

  identityOf(publisherId: number): ListingIdentity {
    const publisher = this.publisher(publisherId)
    return { storefrontUrl: publisher?.storefrontUrl ?? null, publisher: publisher && publisherOf(publisher) }
  }

  keyByHash(hash: string): ApiKey | null {
    return this.#keys.get(hash) ?? null
  }

  /** Newest first, revoked ones included. */
  keys(): ApiKey[] {
    return [...this.#keys.values()].sort((a, b) => b.createdAt - a.createdAt || b.id - a.id)
  }

  /** Newest first, ended ones included. */
  blocks(): Block[] {
    return [...this.#blocks.values()].sort((a, b) => b.id - a.id)
  }

  get segmentSettings(): SegmentSettings {
    const storefronts = new Map(
      Array.from(this.#publishers, ([id, { storefrontUrl }]) => [id, storefrontUrl]),
    )
    return { plan: this.listings.plan, storefronts }
  }

  /** Resolves when all rows of the publisher show its current storefront URL, or a newer one. */
  async storefrontUpdated(publisherId: number): Promise<void> {
    await this.#storefrontUpdates.get(publisherId)
  }

  /** Idempotent. A publisher's new storefront URL reaches its rows in later turns of the event loop. */
  apply(change: Change): void {
    switch (change.kind) {
      case 'publisher':
        this.#setPublisher(change.publisher)
        break
      case 'listing':
        this.#setListing(change.record)
        break
      case 'listing_removed':
        this.#change(change.listingId, () => this.listings.remove(change.listingId))
        break
      case 'key':
        this.#keys.set(change.key.hash, change.key)
        break
      case 'block':
        this.#blocks.set(change.block.id, change.block)
        this.#blockChanges.emit()
    }
  }

  #setListing(record: ListingRecord): void {
    const storefrontUrl = this.publisher(record.publisherId)?.storefrontUrl ?? null
    const { listingId, publisherId, status, createdAt } = record
    const bytes = Buffer.from(renderListing(record, storefrontUrl))
    this.#change(listingId, () => this.listings.put({ listingId, publisherId, status, createdAt, bytes }))
  }

  #change(listingId: string, change: () => void): void {
    const before = this.copiesOf(listingId)
    change()
    this.changes.emit(() => [listingId])
    this.changes.emitChange({
      kind: 'copies',
      listingIds: [listingId],
      before: () => before,
      after: this.copiesOf,
    })
  }

  #setPublisher(publisher: Publisher): void {
    const { publisherId, storefrontUrl } = publisher
    const before = this.publisher(publisherId)
    this.#publishers.set(publisherId, publisher)
    for (const { scheme, identifier } of identitiesOf(publisher)) {
      const ids = this.#publisherIds.get(scheme) ?? new Map<string, number>()
      this.#publisherIds.set(scheme, ids.set(identifier, publisherId))
    }
    const isRenamed = before !== null && before.identifier !== publisher.identifier
    // Its rows name it, although none of their bytes do.
    if (isRenamed) {
      this.listings.version++
      this.#emitRenamed(before)
    }
    if (isRenamed || before?.storefrontUrl !== storefrontUrl)
      this.changes.emit(() => this.listings.entriesOf(publisherId).map(({ listingId }) => listingId))
    if (before === null || before.storefrontUrl === storefrontUrl) return
    const previous = this.#storefrontUpdates.get(publisherId) ?? Promise.resolve()
    const move = previous
      .then(() => inTurns(this.#rewriteRows(publisherId)))
      .finally(() => {
        if (this.#storefrontUpdates.get(publisherId) === move) this.#storefrontUpdates.delete(publisherId)
      })
    this.#storefrontUpdates.set(publisherId, move)
  }

  #emitRenamed(before: Publisher): void {
    const listingIds = this.listings
      .entriesOf(before.publisherId)
      .map(({ listingId }) => listingId)
      .toArray()
    const withName = (copy: HeldCopy) => ({ ...copy, item: { ...copy.item, publisher: publisherOf(before) } })
    const copiesBefore = (listingId: string) => this.copiesOf(listingId).map(withName)
    this.changes.emitChange({ kind: 'copies', listingIds, before: copiesBefore, after: this.copiesOf })
  }

  /** Looks up each row and the URL again: other changes arrive between turns. */
  *#rewriteRows(publisherId: number): Generator<void, void> {
    for (const { listingId } of this.listings.entriesOf(publisherId)) {
      const row = this.listings.get(listingId)
      if (row?.publisherId !== publisherId) continue
      const bytes = withStorefrontUrl(row, this.publisher(publisherId)?.storefrontUrl ?? null)
      if (bytes !== null) this.#change(listingId, () => this.listings.put({ ...row, bytes }))
      yield
    }
  }
}

const NONE: readonly never[] = []

function withStorefrontUrl(row: IndexRow, storefrontUrl: string | null): Uint8Array | null {
  const { bytes } = row
  const start = Buffer.byteLength(rowHead(row))
  const end = new JsonScanner(bytes).valueEnd(start)
  const url = Buffer.from(JSON.stringify(storefrontUrl))
  return url.equals(bytes.subarray(start, end))
    ? null
    : Buffer.concat([bytes.subarray(0, start), url, bytes.subarray(end)])
}
