import type { HiddenRows, ListingQuery } from '../domain/query.ts'
import type { Held } from '../domain/source/held.ts'
import { DIRECTORY, joinMissing } from '../domain/source/missing-source.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import type { Item, ReadingInfo } from '../domain/source/reading.ts'
import { inTurns } from '../domain/turns.ts'
import { isSignableJson } from '../signing/canonical-json.ts'
import { readPublisher } from '../signing/principal.ts'
import { isReadable } from './deciders.ts'

export type SignedSources = {
  sources: NamedSource[]
  close: () => void
}

/**
 * The sources as readers of the signed line have them: without copies that cannot be signed, or whose publisher is not known, and
 * with all copies of one id as one listing, since those readers ask for single listings by the id alone.
 */
export function signedSources(sources: readonly NamedSource[]): SignedSources {
  const rows = sources.map(({ held }) => new UnsignedRows(held))
  return {
    sources: sources.map((source, n) => signedSource(source, rows[n]!)),
    close: () => {
      for (const one of rows) one.close()
    },
  }
}

function signedSource(source: NamedSource, denied: HiddenRows): NamedSource {
  const { mode, read, select, held } = source
  const signed = (query: ListingQuery): ListingQuery =>
    mode === 'local' ? { ...query, hasPrincipals: true } : query
  return {
    ...source,
    read: async (query, range, signal) => {
      const { listings, ...reading } = withDirectory(await read(signed(query), range, signal))
      if (query.listingId === undefined) return { ...reading, listings: listings.map(toSigned) }
      // The question is whether the listing is there.
      const copies = listings.filter((item) => !isReadable(item) || isSigned(item)).map(toSigned)
      return { ...reading, listings: copies, total: reading.total - (listings.length - copies.length) }
    },
    select: async (query, signal) => {
      const selection = withDirectory(await select(signed(query), signal))
      return {
        ...selection,
        byPrice: (order, after) =>
          selection.byPrice(order, after).map(({ item, place }) => ({ item: toSigned(item), place })),
        items: () => Iterator.from(selection.items()).map(toSigned),
      }
    },
    held: signedHeld(held),
    denied: [denied],
  }
}

/** Copies without a publisher are left out, and a later answer may have them. */
function withDirectory<Info extends ReadingInfo>(info: Info): Info {
  return info.isAttributed === false ? { ...info, missing: joinMissing(info.missing, DIRECTORY) } : info
}

const hasPublisher = ({ publisher }: Item): boolean => publisher !== null && readPublisher(publisher) !== null

const isSigned = (item: Item): boolean => hasPublisher(item) && isReadable(item) && isSignable(item)

/** Of copies: to read their bytes takes longer than the rest. */
const signable = new WeakMap<Item, boolean>()

function isSignable(item: Item): boolean {
  const before = signable.get(item)
  if (before !== undefined) return before
  const now = isSignableJson(item.bytes)
  signable.set(item, now)
  return now
}

const toSigned = (item: Item): Item => new SignedItem(item)

/**
 * A copy that cannot be signed is unreadable: it is stepped over, and counted nowhere. A class, since V8 keeps an object
 * literal with a getter until the next full collection of garbage.
 */
class SignedItem implements Item {
  readonly listingId: string
  readonly createdAt: Item['createdAt']
  readonly position: Item['position']
  readonly storefrontUrl: string | null
  readonly publisher: string | null
  readonly isKnownById = true
  readonly row?: string
  readonly origin?: Item['origin'] & object
  readonly #item: Item
  #isShown: boolean | undefined

  constructor(item: Item) {
    this.listingId = item.listingId
    this.createdAt = item.createdAt
    this.position = item.position
    this.storefrontUrl = item.storefrontUrl
    this.publisher = item.publisher
    if (item.row !== undefined) this.row = item.row
    if (item.origin !== undefined) this.origin = item.origin
    this.#item = item
  }

  get isLeftOut(): boolean {
    return isReadable(this.#item) && !isReadable(this)
  }

  get bytes(): Uint8Array {
    this.#isShown ??= isSigned(this.#item)
    if (this.#isShown) return this.#item.bytes
    throw new SyntaxError(`the listing ${JSON.stringify(this.listingId)} cannot be signed`)
  }

  get meaning(): string | undefined {
    return this.#item.meaning
  }

  get terms(): string | undefined {
    return this.#item.terms
  }
}

function signedHeld(held: Held): Held {
  return {
    ...held,
    find: (listingId) =>
      held
        .find(listingId)
        .flatMap(({ item, ...copy }) => (isSigned(item) ? [{ ...copy, item: toSigned(item) }] : [])),
  }
}

/** Ids whose copies are looked at again before each use: a source reports a change of the publisher, and not of the bytes. */
const MAX_WATCHED = 1000

/** Rows in memory that are left out and counted nowhere. The first look at a source takes several turns of the event loop. */
class UnsignedRows implements HiddenRows {
  readonly #held: Held
  readonly #keys = new Set<string>()
  readonly #byId = new Map<string, readonly string[]>()
  /** Of copies with a publisher. */
  readonly #watched = new Set<string>()
  readonly #endFollowing: () => void
  #version = 0
  #isClosed = false

  constructor(held: Held) {
    this.#held = held
    this.#endFollowing = held.onChange((ids) => {
      for (const id of new Set(ids)) this.#look(id)
    })
    void inTurns(this.#lookAt([...held.ids()]))
  }

  get keys(): ReadonlySet<string> {
    this.#lookAgain()
    return this.#keys
  }

  get version(): number {
    this.#lookAgain()
    return this.#version
  }

  close(): void {
    this.#isClosed = true
    this.#endFollowing()
  }

  #lookAgain(): void {
    for (const id of [...this.#watched]) this.#look(id)
  }

  *#lookAt(ids: readonly string[]): Generator<void, void> {
    for (const id of ids) {
      if (this.#isClosed) return
      this.#look(id)
      yield
    }
  }

  #look(listingId: string): void {
    const before = this.#byId.get(listingId) ?? NONE
    const copies = this.#held.find(listingId)
    const unsigned = copies.filter(({ item }) => !isSigned(item))
    const isWatched = unsigned.some(({ item }) => hasPublisher(item))
    if (!isWatched) this.#watched.delete(listingId)
    else if (this.#watched.size < MAX_WATCHED) this.#watched.add(listingId)
    // More are stepped over, one by one, as unreadable.
    const isBounded = !isWatched || this.#watched.has(listingId)
    const now = isBounded ? unsigned.map(({ key }) => key) : NONE
    if (before.length === now.length && before.every((key, n) => key === now[n])) return
    for (const key of before) this.#keys.delete(key)
    for (const key of now) this.#keys.add(key)
    if (now.length === 0) this.#byId.delete(listingId)
    else this.#byId.set(listingId, now)
    this.#version++
  }
}

const NONE: readonly string[] = []
