import type { Clock } from '../domain/clock.ts'
import { SingleFlight } from '../domain/single-flight.ts'
import { SourceError } from '../domain/source-error.ts'
import { readUpstreamSpec, type UpstreamSpec } from '../filter-spec/upstream-spec.ts'
import type { Get } from './http/get.ts'

const MAX_SPEC_BYTES = 1024 * 1024
export const SPEC_FRESH_MS = 60_000
export const SPEC_RETRY_MS = 5_000

/** Fetched again on use when old. A failure keeps the last spec. */
export class FilterSpecCache {
  readonly #get: Get
  readonly #clock: Clock
  /** Settles after the first fetch, with any outcome. */
  readonly loaded: Promise<void>
  #spec: UpstreamSpec | null = null
  readonly #fetches = new SingleFlight(() => this.#fetch())
  #isFresh = false
  #cancel: () => void = () => {}

  constructor(get: Get, clock: Clock) {
    this.#get = get
    this.#clock = clock
    this.loaded = this.refresh()
  }

  /** `null` after a 404, or before any answer. */
  get current(): UpstreamSpec | null {
    if (!this.#isFresh) void this.refresh()
    return this.#spec
  }

  /** For an answer that contradicts `doubted`. Never rejects. */
  async recheck(doubted: UpstreamSpec | null): Promise<UpstreamSpec | null> {
    if (this.#spec === doubted) await this.refresh()
    return this.#spec
  }

  close(): void {
    this.#cancel()
  }

  /** Never rejects. */
  refresh(): Promise<void> {
    return this.#fetches.join()
  }

  async #fetch(): Promise<void> {
    this.#isFresh = true
    let freshMs = SPEC_FRESH_MS
    try {
      this.#spec = await fetchFilterSpec(this.#get, this.#spec)
    } catch {
      // Listings are read all the same.
      freshMs = SPEC_RETRY_MS
    }
    this.#cancel()
    this.#cancel = this.#clock.after(freshMs, () => {
      this.#isFresh = false
    })
  }
}

/** `null` after a 404, `known` after a 304. @throws SourceError */
async function fetchFilterSpec(get: Get, known: UpstreamSpec | null): Promise<UpstreamSpec | null> {
  const headers = known?.etag ? { 'if-none-match': `"${known.etag}"` } : {}
  const { status, body } = await get('/filter-spec', {
    maxBytes: MAX_SPEC_BYTES,
    headers,
    expected: [304, 404],
  })
  if (status === 304) return known
  if (status === 404) return null
  try {
    const spec = readUpstreamSpec(body)
    return known !== null && known.etag !== null && spec.etag === known.etag ? known : spec
  } catch (cause) {
    throw new SourceError('not_json', (cause as Error).message, { cause })
  }
}
