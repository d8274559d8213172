import {
  generateListings,
  PUBLISHERS,
  type Publisher,
  randomFrom,
  type SeededRandom,
} from './generate-listings.ts'

/** Longer Registries are read once, so their pages are not cached. */
const MEMOIZED = 1000

/** Sellers of a Registry that is one of many. */
const SELLERS = 20

/** The open listings of a scripted Registry, newest first. */
export class ScriptedListings {
  readonly publishers: readonly Publisher[]
  readonly #source: Iterator<string>
  readonly #random: SeededRandom
  readonly #items: string[] = []
  readonly #pages = new Map<string, Buffer>()
  #closed = 0
  #changes = 0

  /** @param better the Registry whose listings each tenth one is a copy of, with other terms; then it has few sellers */
  constructor(count: number, seed: number, better?: ScriptedListings | null) {
    const first = (seed * SELLERS) % PUBLISHERS.length
    const own = better === undefined ? PUBLISHERS : PUBLISHERS.slice(first, first + SELLERS)
    this.publishers = better ? [...own, ...better.publishers.slice(0, SELLERS)] : own
    this.#source = openListings(seed, own)
    this.#random = randomFrom(seed)
    const copies = better
      ? better.#items.filter((_, n) => n % 10 === 5).map((item) => withOtherTerms(item, seed))
      : []
    while (this.#items.length < count - copies.length) this.#items.push(this.#source.next().value)
    this.#items.push(...copies)
    this.#items.sort((one, other) => (createdAt(one) < createdAt(other) ? 1 : -1))
  }

  get bytes(): number {
    return this.#items.reduce((sum, item) => sum + Buffer.byteLength(item), 0)
  }

  /** The body of `GET /api/v1/system/stats`. */
  get stats(): unknown {
    const open = this.#items.length
    return { order_count: open + this.#closed, orders_by_status: { open, closed: this.#closed } }
  }

  page(limit: number, offset: number): Buffer {
    const key = `${limit} ${offset}`
    const known = this.#pages.get(key)
    if (known !== undefined) return known
    const items = this.#items.slice(offset, offset + limit)
    const body = Buffer.from(
      `{"items":[${items.join(',')}],"count":${items.length},"total_after_filter":${this.#items.length}}`,
    )
    if (this.#items.length <= MEMOIZED) this.#pages.set(key, body)
    return body
  }

  /** In turn: a new listing, other terms of one, and one is closed. */
  change(): void {
    this.#pages.clear()
    const at = Math.floor(this.#random() * this.#items.length)
    const kind = this.#changes++ % 3
    if (kind === 0) this.#items.unshift(this.#source.next().value)
    else if (kind === 1) this.#items[at] = withOtherTerms(this.#items[at]!, this.#changes)
    else {
      this.#items.splice(at, 1)
      this.#closed++
    }
  }
}

function* openListings(seed: number, publishers: readonly Publisher[]): Generator<string, never> {
  for (const { status, bytes } of generateListings(Number.POSITIVE_INFINITY, seed, publishers))
    if (status === 'open') yield Buffer.from(bytes).toString()
  throw new Error('the generator has ended')
}

function withOtherTerms(item: string, hours: number): string {
  return item.replace(/"max_duration_seconds":\d+/, `"max_duration_seconds":${3600 * hours}`)
}

function createdAt(item: string): string {
  return /"created_at":"([^"]+)"/.exec(item)![1]!
}
