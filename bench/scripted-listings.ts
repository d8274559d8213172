import { generateListings, randomFrom, type SeededRandom } from './generate-listings.ts'

/** Longer Registries are read once, so their pages are not cached. */
const MEMOIZED = 1000

/** The open listings of a scripted Registry, newest first. */
export class ScriptedListings {
  readonly #source: Iterator<string>
  readonly #random: SeededRandom
  readonly #items: string[] = []
  readonly #pages = new Map<string, Buffer>()
  #closed = 0
  #changes = 0

  constructor(count: number, seed: number) {
    this.#source = openListings(seed)
    this.#random = randomFrom(seed)
    while (this.#items.length < count) this.#items.push(this.#source.next().value)
    this.#items.reverse()
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

function* openListings(seed: number): Generator<string, never> {
  for (const { status, bytes } of generateListings(Number.POSITIVE_INFINITY, seed))
    if (status === 'open') yield Buffer.from(bytes).toString()
  throw new Error('the generator has ended')
}

function withOtherTerms(item: string, hours: number): string {
  return item.replace(/"max_duration_seconds":\d+/, `"max_duration_seconds":${3600 * hours}`)
}
