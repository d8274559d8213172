import { isUtf8 } from 'node:buffer'
import type { Clock } from '../domain/clock.ts'
import { SingleFlight } from '../domain/single-flight.ts'
import { SourceError } from '../domain/source/source-error.ts'
import { nestingDepth } from '../json/limits.ts'
import { isJsonObject, type JsonObject, type JsonValue, parseObject } from '../json/value.ts'
import type { Get } from './http/get.ts'
import { asAddress } from './page/envelope.ts'
import type { PageItem } from './page/listing-page.ts'

const PUBLISHERS_PAGE = 200
const MAX_PUBLISHERS_BYTES = 1024 * 1024
const MAX_DEPTH = 16
/** 10,000 publishers. */
const MAX_SEARCH_PAGES = 50
const MAX_PUBLISHERS = 20_000
const MAX_STOREFRONT_LENGTH = 2048
/** Age at which a publisher is searched again, and one that was not found. */
export const PUBLISHER_FRESH_MS = 600_000
const SEARCH_AGAIN_MS = 60_000
const SEARCH_PAUSE_MS = 1_000
const SEARCH_RETRY_MS = 5_000
/** How long listings wait for unknown publishers. */
export const PUBLISHERS_WAIT_MS = 500

type Publisher = { id: number; address: string | null; storefrontUrl: string | null }

/** Publishers by id, and storefronts by address, which the directory of the next runtime continues with. */
export class PublisherState {
  readonly publishers = new Map<number, { publisher: Publisher; until: number }>()
  readonly storefronts = new Map<string, string | null>()
}

/** Entries are searched again when old, since a new database of the Registry counts ids from 1 again. */
export class PublisherDirectory {
  readonly #get: Get
  readonly #clock: Clock
  readonly #state: PublisherState
  readonly #searches = new SingleFlight(() => this.#find())
  /** Ids that the search looks for, those of readers that joined it included. */
  readonly #wanted = new Set<number>()
  #pausedUntil = 0
  #hasFailed = false

  constructor(get: Get, clock: Clock, state = new PublisherState()) {
    this.#get = get
    this.#clock = clock
    this.#state = state
  }

  storefrontOf(address: string): string | null | undefined {
    return this.#state.storefronts.get(address)
  }

  /** Sets known publishers, after a search for the others. @returns whether the search ended */
  async attribute(items: readonly PageItem[]): Promise<boolean> {
    const search = this.#learn(items)
    const hasEnded = search === null || (await this.#endsInTime(search))
    for (const item of items) {
      if (item.publisherId === null || item.origin !== undefined) continue
      item.publisher = this.#state.publishers.get(item.publisherId)?.publisher.address ?? null
    }
    return hasEnded
  }

  /** `null` where waiting would not help. */
  #learn(items: readonly PageItem[]): Promise<void> | null {
    const now = this.#clock.now()
    const pauseMs = this.#pausedUntil - now
    // The clock may have been set back.
    const isPausing = pauseMs > 0 && pauseMs <= SEARCH_RETRY_MS
    let isUnknown = false
    for (const { publisherId } of items) {
      if (publisherId === null) continue
      const known = this.#state.publishers.get(publisherId)
      if (known === undefined) isUnknown = true
      if (isPausing) continue
      if (known === undefined || known.until <= now || known.until > now + PUBLISHER_FRESH_MS)
        this.#wanted.add(publisherId)
    }
    const search = this.#wanted.size > 0 ? this.#searches.join() : null
    return isUnknown && !this.#hasFailed ? search : null
  }

  #endsInTime(search: Promise<void>): Promise<boolean> {
    return new Promise((resolve) => {
      const cancel = this.#clock.after(PUBLISHERS_WAIT_MS, () => resolve(false))
      void search.then(() => {
        cancel()
        resolve(true)
      })
    })
  }

  async #find(): Promise<void> {
    const first = [...this.#wanted]
    try {
      for (let page = 0; page < MAX_SEARCH_PAGES && this.#wanted.size > 0; page++) {
        const { publishers, received } = await this.#fetch(page * PUBLISHERS_PAGE)
        for (const publisher of publishers) {
          this.#set(publisher, PUBLISHER_FRESH_MS)
          this.#wanted.delete(publisher.id)
        }
        if (received < PUBLISHERS_PAGE) break
      }
      // Publishers of later readers may be newer than the pages before.
      for (const id of first)
        if (this.#wanted.has(id)) this.#set({ id, address: null, storefrontUrl: null }, SEARCH_AGAIN_MS)
      this.#hasFailed = false
    } catch {
      // Listings are shown without publishers; known publishers stay.
      this.#hasFailed = true
    }
    this.#wanted.clear()
    this.#pausedUntil = this.#clock.now() + (this.#hasFailed ? SEARCH_RETRY_MS : SEARCH_PAUSE_MS)
  }

  async #fetch(offset: number): Promise<{ publishers: Publisher[]; received: number }> {
    const path = `/publishers?limit=${PUBLISHERS_PAGE}&offset=${offset}`
    const { body } = await this.#get(path, { maxBytes: MAX_PUBLISHERS_BYTES })
    const items = readItems(body)
    return { publishers: items.slice(0, PUBLISHERS_PAGE).flatMap(readPublisher), received: items.length }
  }

  #set(publisher: Publisher, freshMs: number): void {
    const { id, address, storefrontUrl } = publisher
    const { publishers, storefronts } = this.#state
    this.#forget(id)
    publishers.set(id, { publisher, until: this.#clock.now() + freshMs })
    if (address !== null) storefronts.set(address, storefrontUrl)
    if (publishers.size > MAX_PUBLISHERS) this.#forget(publishers.keys().next().value!)
  }

  #forget(id: number): void {
    const { publishers, storefronts } = this.#state
    const address = publishers.get(id)?.publisher.address ?? null
    publishers.delete(id)
    if (address !== null) storefronts.delete(address)
  }
}

function readItems(body: Buffer): readonly JsonValue[] {
  const { items } = isUtf8(body) && nestingDepth(body) <= MAX_DEPTH ? parseObject(body.toString()) : {}
  if (Array.isArray(items)) return items
  throw new SourceError('bad_envelope', 'the answer is not a list of publishers')
}

function readPublisher(entry: JsonValue): Publisher[] {
  if (!isJsonObject(entry) || !Number.isSafeInteger(entry.publisher_id)) return []
  const { storefront_url: url } = entry
  const storefrontUrl = typeof url === 'string' && url.length <= MAX_STOREFRONT_LENGTH ? url : null
  return [{ id: entry.publisher_id as number, address: readAddress(entry), storefrontUrl }]
}

/** Only the signature of the first `eip191` identity counts. */
function readAddress({ identities }: JsonObject): string | null {
  const list = Array.isArray(identities) ? identities.filter(isJsonObject) : []
  const identifier = list.find(({ scheme }) => scheme === 'eip191')?.identifier
  return typeof identifier === 'string' ? asAddress(identifier) : null
}
