import type { ApiKey } from '../domain/api-key.ts'
import type { Block } from '../domain/block.ts'
import { Emitter } from '../domain/emitter.ts'
import { type ListingRecord, renderListing, rowHead } from '../domain/listing.ts'
import { identitiesOf, type Publisher, type PublisherIdentity } from '../domain/publisher.ts'
import { inTurns } from '../domain/turns.ts'
import { JsonScanner } from '../json/scanner.ts'
import type { Copy } from '../listing-index/copy.ts'
import type { CopyIndex } from '../listing-index/copy-index.ts'
import { publisherOf, readPublisher } from '../signing/principal.ts'
import type { Change } from '../store/commands.ts'
import type { Tables } from '../vocabulary/meaning.ts'
import type { Vocabulary } from '../vocabulary/vocabulary.ts'
import type { SegmentSettings } from './load/build-segment.ts'

export class Projection {
  readonly index: CopyIndex
  /** The number of its rows in the index. */
  readonly source: number
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

  /** @param name of the Registry as a source */
  constructor(index: CopyIndex, name: string, { tables }: Pick<Vocabulary, 'tables'>) {
    this.index = index
    this.source = index.addSource(name, true)
    this.tables = tables
  }

  get size(): number {
    return this.index.about(this.source).rows
  }

  /** Removes its rows, in turns. */
  drop(): Promise<void> {
    return inTurns(this.index.removeSource(this.source))
  }

  listing(listingId: string): Copy | undefined {
    return this.index.get(this.source, listingId)
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
    const row = this.listing(listingId)
    return row === undefined ? null : this.publisher(row.seller)
  }

  isOwnedByAnother(listingId: string, identity: PublisherIdentity): boolean {
    const owner = this.ownerOf(listingId)
    return owner !== null && owner !== this.publisherOf(identity)
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
    return { plan: this.index.planOf(this.source), storefronts }
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
        this.index.remove(this.source, change.listingId)
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
    const { listingId: key, publisherId: seller, status, createdAt: position } = record
    const bytes = Buffer.from(renderListing(record, storefrontUrl))
    this.index.put(this.source, { key, seller, status, position, bytes })
  }

  #setPublisher(publisher: Publisher): void {
    const { publisherId, storefrontUrl, rotations } = publisher
    const before = this.publisher(publisherId)
    this.#publishers.set(publisherId, publisher)
    for (const { scheme, identifier } of identitiesOf(publisher)) {
      const ids = this.#publisherIds.get(scheme) ?? new Map<string, number>()
      this.#publisherIds.set(scheme, ids.set(identifier, publisherId))
    }
    // Its rows name it, although none of their bytes do.
    const replaced = rotations.map(({ current }) => publisherOf(current))
    const aliases = replaced.length === 0 ? undefined : replaced
    this.index.learn(publisherId, { publisher: publisherOf(publisher), aliases, storefrontUrl })
    if (before === null || before.storefrontUrl === storefrontUrl) return
    const previous = this.#storefrontUpdates.get(publisherId) ?? Promise.resolve()
    const move = previous
      .then(() => inTurns(this.#rewriteRows(publisherId)))
      .finally(() => {
        if (this.#storefrontUpdates.get(publisherId) === move) this.#storefrontUpdates.delete(publisherId)
      })
    this.#storefrontUpdates.set(publisherId, move)
  }

  /** Looks up each row and the URL again: other changes arrive between turns. */
  *#rewriteRows(publisherId: number): Generator<void, void> {
    for (const listingId of this.index.listingIdsOf(new Set([publisherId]))) {
      const row = this.listing(listingId)
      if (row?.seller !== publisherId) continue
      const bytes = withStorefrontUrl(row, this.publisher(publisherId)?.storefrontUrl ?? null)
      if (bytes !== null) this.index.put(this.source, { ...row, bytes })
      yield
    }
  }
}

function withStorefrontUrl(
  { bytes, listingId, seller: publisherId }: Copy,
  storefrontUrl: string | null,
): Uint8Array | null {
  const start = Buffer.byteLength(rowHead({ listingId, publisherId }))
  const end = new JsonScanner(bytes).valueEnd(start)
  const url = Buffer.from(JSON.stringify(storefrontUrl))
  return url.equals(bytes.subarray(start, end))
    ? null
    : Buffer.concat([bytes.subarray(0, start), url, bytes.subarray(end)])
}
