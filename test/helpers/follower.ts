import type { ChangeJson, ChangesJson } from '../../src/wire/change.ts'
import type { Reply, RunningService } from './registry.ts'

export type Listing = Record<string, unknown> & { listing_id: string; storefront_url: string | null }

/** A reader that keeps a map from `key` to listing, as `GET /changes` promises it. */
export class Follower {
  readonly #get: RunningService['get']
  readonly query: string
  readonly headers: Record<string, string>
  /** By `listing_id` at a plain Registry, whose rows do not name their publishers. */
  readonly #isPlain: boolean
  map = new Map<string, Listing>()
  position = ''
  /** Readings that were taken. */
  readings = 0
  /** All changes so far. */
  readonly changes: ChangeJson[] = []

  constructor(
    { get }: Pick<RunningService, 'get'>,
    {
      query = '',
      headers = {},
      isPlain = false,
    }: { query?: string; headers?: Record<string, string>; isPlain?: boolean } = {},
  ) {
    this.#get = get
    this.query = query
    this.headers = headers
    this.#isPlain = isPlain
  }

  /** What `GET /listings` answers now, by key, and the position before it. */
  async read(): Promise<{ map: Map<string, Listing>; position: string }> {
    const map = new Map<string, Listing>()
    let position: string | null = null
    for (let offset = 0, total = 1; offset < total; offset += 200) {
      const reply = await this.#get(`/listings?limit=200&offset=${offset}&${this.query}`, this.headers)
      if (reply.status !== 200) throw new Error(`${reply.status} ${reply.text}`)
      position ??= reply.headers.get('changes-position')
      const { items, total_after_filter } = reply.json() as { items: Listing[]; total_after_filter: number }
      for (const listing of items) map.set(this.#keyOf(listing), listing)
      total = total_after_filter
    }
    return { map, position: position! }
  }

  async begin(): Promise<void> {
    this.readings++
    Object.assign(this, await this.read())
  }

  ask(limit = 200, since = this.position): Promise<Reply> {
    const parameters = [`since=${since}`, `limit=${limit}`, this.query].filter(Boolean).join('&')
    return this.#get(`/changes?${parameters}`, this.headers)
  }

  /** Reads changes until there are no more. After a 410 it begins again. */
  async catchUp(limit?: number): Promise<void> {
    for (let hasMore = true; hasMore; ) {
      const reply = await this.ask(limit)
      if (reply.status === 410) {
        await this.begin()
        continue
      }
      if (reply.status !== 200) throw new Error(`${reply.status} ${reply.text}`)
      const { changes, position, more } = reply.json() as unknown as ChangesJson
      for (const change of changes) this.apply(change)
      this.position = position
      hasMore = more
    }
  }

  apply(change: ChangeJson): void {
    this.changes.push(change)
    if (change.type === 'source') return
    const key = this.#isPlain ? change.listing_id : change.key
    if (change.type === 'listing') this.map.set(key, change.listing as Listing)
    else this.map.delete(key)
  }

  #keyOf(listing: Listing): string {
    if (this.#isPlain) return listing.listing_id
    const { publisher, registry } = listing._meta as { publisher?: string; registry: string }
    return `${publisher ?? listing.storefront_url ?? `?${registry}`}/${encodeURIComponent(listing.listing_id.toWellFormed())}`
  }
}

/** Without the members of `_meta` that other listings or time move. */
export function comparable(
  map: ReadonlyMap<string, Listing>,
): [key: string, listing: object, provenance: object][] {
  return [...map]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, { _meta, ...listing }]) => [key, listing, provenance(_meta)])
}

function provenance(meta: unknown): object {
  const { registry, publisher, price } = (meta ?? {}) as Record<string, unknown>
  const { amount } = (price ?? {}) as Record<string, unknown>
  return { registry, publisher, amount }
}
