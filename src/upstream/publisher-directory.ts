import { isUtf8 } from 'node:buffer'
import { type Clock, raceAbort } from '../domain/clock.ts'
import { SingleFlight } from '../domain/single-flight.ts'
import { SourceError } from '../domain/source/source-error.ts'
import { parseTimestamp } from '../domain/timestamp.ts'
import { nestingDepth } from '../json/limits.ts'
import { isJsonObject, type JsonObject, type JsonValue, parseObject } from '../json/value.ts'
import { MAX_ALIASES, publisherOf, readPrincipal } from '../signing/principal.ts'
import type { Get } from './http/request.ts'
import type { PageItem } from './page/listing-page.ts'

const PUBLISHERS_PAGE = 200
const MAX_PUBLISHERS_BYTES = 1024 * 1024
const MAX_DEPTH = 16
/** 10,000 publishers. */
const MAX_SEARCH_PAGES = 50
const MAX_PUBLISHERS = 20_000
/** Age at which a publisher is searched again, and one that was not found. */
export const PUBLISHER_FRESH_MS = 600_000
const SEARCH_AGAIN_MS = 60_000
const SEARCH_PAUSE_MS = 1_000
const SEARCH_RETRY_MS = 5_000
/** A search that takes longer has failed. Pulls wait for its end. */
export const MAX_SEARCH_MS = 30_000
/** How long readers wait for a search, from its start. */
export const PUBLISHERS_WAIT_MS = 500

/** `aliases`: its keys before, the first one first; absent on the plain line, whose rows have no keys either. */
type Publisher = { id: number; address: string | null; aliases?: readonly string[] }

/** By id. The directory of the next runtime continues with them. */
export type KnownPublishers = Map<number, { publisher: Publisher; until: number }>

/** Entries are searched again when old, since a new database of the Registry counts ids from 1 again. */
export class PublisherDirectory {
  readonly #get: Get
  readonly #clock: Clock
  readonly #known: KnownPublishers
  readonly #searches = new SingleFlight(() => this.#find())
  /** Ids that the search looks for, those of readers that joined it included. */
  readonly #soughtIds = new Set<number>()
  #startedAt = 0
  #pausedUntil = 0
  /** The latest search. */
  #hasFailed = false

  constructor(get: Get, clock: Clock, known: KnownPublishers = new Map()) {
    this.#get = get
    this.#clock = clock
    this.#known = known
  }

  /** The running search, which never rejects. */
  get search(): Promise<void> | null {
    return this.#searches.current
  }

  /** Whether publishers that are unknown now may be known later: the latest search failed, or one is running. */
  get isBehind(): boolean {
    return this.#hasFailed || this.search !== null
  }

  /**
   * Sets known publishers. Waits a moment for a search for the others, but not after one that has failed.
   * @returns whether the search has ended, or is not expected to help
   */
  async attribute(items: readonly PageItem[]): Promise<boolean> {
    const search = this.#learn(items, this.#clock.monotonic() < this.#pausedUntil)
    const hasEnded = search === null || this.#hasFailed || (await this.#endsInTime(search))
    this.#setKnown(items)
    return hasEnded
  }

  /** Sets the publishers of a pull. Waits until the search has ended, except after a failed one. */
  async attributeAll(items: readonly PageItem[]): Promise<void> {
    const search = this.#learn(items, false)
    if (search !== null && !this.#hasFailed) await search
    this.#setKnown(items)
  }

  #setKnown(items: readonly PageItem[]): void {
    for (const item of items) {
      if (item.publisherId === null || item.origin !== undefined) continue
      Object.assign(item, attributionOf(this.#known.get(item.publisherId)?.publisher, item.principals))
    }
  }

  /** The search for unknown publishers of these. */
  #learn(items: readonly PageItem[], isPausing: boolean): Promise<void> | null {
    const now = this.#clock.monotonic()
    let isUnknown = false
    for (const { publisherId, principals, origin } of items) {
      // Ids of a gateway's items are those of other Registries.
      if (publisherId === null || origin !== undefined) continue
      const held = this.#known.get(publisherId)
      const entry = held && isOther(held.publisher, principals) ? undefined : held
      if (entry === undefined) isUnknown = true
      if (isPausing) continue
      if (entry === undefined || entry.until <= now || entry.until > now + PUBLISHER_FRESH_MS)
        this.#soughtIds.add(publisherId)
    }
    const search = this.#soughtIds.size > 0 ? this.#searches.join() : null
    return isUnknown ? search : null
  }

  #endsInTime(search: Promise<void>): Promise<boolean> {
    const ms = PUBLISHERS_WAIT_MS - (this.#clock.monotonic() - this.#startedAt)
    return new Promise((resolve) => {
      if (ms <= 0) return resolve(false)
      const cancel = this.#clock.after(ms, () => resolve(false))
      void search.then(() => {
        cancel()
        resolve(true)
      })
    })
  }

  async #find(): Promise<void> {
    const first = [...this.#soughtIds]
    this.#startedAt = this.#clock.monotonic()
    const deadline = new AbortController()
    const cancel = this.#clock.after(MAX_SEARCH_MS, () => deadline.abort())
    try {
      await this.#readPages(deadline.signal)
      // Publishers of later readers may be newer than the pages before.
      const absent = first.filter((id) => this.#soughtIds.has(id))
      for (const id of absent) this.#set({ id, address: null }, SEARCH_AGAIN_MS)
      this.#hasFailed = false
    } catch {
      // Listings are shown without publishers; known publishers stay.
      this.#hasFailed = true
    }
    cancel()
    this.#soughtIds.clear()
    this.#pausedUntil = this.#clock.monotonic() + (this.#hasFailed ? SEARCH_RETRY_MS : SEARCH_PAUSE_MS)
  }

  async #readPages(signal: AbortSignal): Promise<void> {
    for (let page = 0; page < MAX_SEARCH_PAGES && this.#soughtIds.size > 0; page++) {
      const path = `/publishers?limit=${PUBLISHERS_PAGE}&offset=${page * PUBLISHERS_PAGE}`
      const { body } = await raceAbort(this.#get(path, { maxBytes: MAX_PUBLISHERS_BYTES }), signal)
      const items = readItems(body)
      for (const publisher of items.slice(0, PUBLISHERS_PAGE).flatMap(readPublisher)) {
        this.#set(publisher, PUBLISHER_FRESH_MS)
        this.#soughtIds.delete(publisher.id)
      }
      if (items.length < PUBLISHERS_PAGE) break
    }
  }

  #set(publisher: Publisher, freshMs: number): void {
    const { id } = publisher
    this.#known.delete(id)
    this.#known.set(id, { publisher, until: this.#clock.monotonic() + freshMs })
    if (this.#known.size > MAX_PUBLISHERS) this.#known.delete(this.#known.keys().next().value!)
  }
}

/** A row may know a new key before the directory does, or the directory before the row. */
function attributionOf(
  known: Publisher | undefined,
  [primary, ...others]: PageItem['principals'],
): Pick<PageItem, 'publisher' | 'aliases'> {
  if (known === undefined || known.address === null) return { publisher: null, aliases: undefined }
  const { address, aliases: before = [] } = known
  const keys = [...before, address]
  const isRotated =
    primary !== undefined && !keys.includes(primary) && others.some((one) => keys.includes(one))
  const publisher = known.aliases !== undefined && isRotated ? primary : address
  const aliases = keys.filter((key) => key !== publisher)
  return { publisher, aliases: aliases.length === 0 ? undefined : aliases }
}

/** Whether the row has other keys only: the publisher has replaced all that the directory had. */
function isOther({ address, aliases }: Publisher, principals: PageItem['principals']): boolean {
  if (address === null || aliases === undefined || principals.length === 0) return false
  return !principals.some((one) => one === address || aliases.includes(one))
}

/** @throws SourceError */
function readItems(body: Buffer): readonly JsonValue[] {
  const { items } = isUtf8(body) && nestingDepth(body) <= MAX_DEPTH ? parseObject(body.toString()) : {}
  if (Array.isArray(items)) return items
  throw new SourceError('bad_envelope', 'the answer is not a list of publishers')
}

function readPublisher(entry: JsonValue): Publisher[] {
  if (!isJsonObject(entry) || !Number.isSafeInteger(entry.publisher_id)) return []
  return [{ id: entry.publisher_id as number, ...readKeys(entry) }]
}

/** Only the signature of the first `eip191` identity counts, else that of another; on the signed line that of the primary principal. */
function readKeys({ identities }: JsonObject): Pick<Publisher, 'address' | 'aliases'> {
  const list = Array.isArray(identities) ? identities.filter(isJsonObject) : []
  const primary = list.find(({ status }) => status === 'primary')
  const address = primary === undefined ? null : textOf(primary.principal)
  if (address !== null) return { address, aliases: replacedIn(list).filter((key) => key !== address) }
  const wallet = list.find(({ scheme }) => scheme === 'eip191')
  const keys = (wallet === undefined ? list : [wallet]).map(textOf)
  return { address: keys.find((key) => key !== null) ?? null }
}

/** Whatever their order, the first one is the one whose time was up first. */
function replacedIn(list: readonly JsonObject[]): string[] {
  const replaced = list
    .filter(({ status }) => status !== 'primary')
    .map(({ principal, retired_at, active_until }) => {
      const end = retired_at ?? active_until
      return {
        key: textOf(principal),
        end: (typeof end === 'string' ? parseTimestamp(end) : null) ?? Infinity,
      }
    })
    .sort((a, b) => (a.end < b.end ? -1 : a.end > b.end ? 1 : 0))
  return replaced.flatMap(({ key }) => key ?? []).slice(0, MAX_ALIASES)
}

function textOf(principal: JsonValue | undefined): string | null {
  const read = isJsonObject(principal) ? readPrincipal(principal.scheme, principal.identifier) : null
  return read && publisherOf(read)
}
