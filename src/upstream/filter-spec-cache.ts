import type { Clock } from '../domain/clock.ts'
import { SingleFlight } from '../domain/single-flight.ts'
import { SourceError } from '../domain/source/source-error.ts'
import { type KnownSpec, readUpstreamSpec, type UpstreamSpec } from '../filter-spec/upstream-spec.ts'
import type { Get } from './http/request.ts'

const MAX_SPEC_BYTES = 1024 * 1024
export const SPEC_FRESH_MS = 60_000
export const SPEC_RETRY_MS = 5_000

/** The last answer, which the cache of the next runtime continues with. */
export class FilterSpecState {
  spec: UpstreamSpec | null = null
  /** In ms since the Unix epoch; 0 before the first fetch. */
  freshUntil = 0
  /** Of the latest fetch. */
  failure: SourceError | null = null
}

/** Fetched for its first use, and again when it is old. A failure keeps the last spec. */
export class FilterSpecCache implements KnownSpec {
  readonly #get: Get
  readonly #clock: Clock
  readonly #state: FilterSpecState
  readonly #fetches = new SingleFlight(() => this.#fetch())

  constructor(get: Get, clock: Clock, state = new FilterSpecState()) {
    this.#get = get
    this.#clock = clock
    this.#state = state
  }

  /** Settles once it was fetched, with any outcome. */
  get loaded(): Promise<void> {
    return this.#state.freshUntil > 0 ? Promise.resolve() : this.refresh()
  }

  /** `null` after a 404, or before any answer. */
  get current(): UpstreamSpec | null {
    return this.#state.spec
  }

  /** Fetches it unless it is fresh. Never rejects. */
  load(): Promise<void> | null {
    return this.#state.freshUntil > this.#clock.monotonic() ? null : this.refresh()
  }

  get failure(): SourceError | null {
    return this.#state.failure
  }

  /** Never rejects. */
  refresh(): Promise<void> {
    return this.#fetches.join()
  }

  async #fetch(): Promise<void> {
    let freshMs = SPEC_FRESH_MS
    try {
      this.#state.spec = await fetchFilterSpec(this.#get, this.#state.spec)
      this.#state.failure = null
    } catch (error) {
      if (!(error instanceof SourceError)) throw error
      // Listings are read all the same.
      this.#state.failure = error
      freshMs = SPEC_RETRY_MS
    }
    this.#state.freshUntil = this.#clock.monotonic() + freshMs
  }
}

/** `null` after a 404, `current` after a 304. @throws SourceError */
async function fetchFilterSpec(get: Get, current: UpstreamSpec | null): Promise<UpstreamSpec | null> {
  const headers = current?.etag ? { 'if-none-match': `"${current.etag}"` } : {}
  const { status, body } = await get('/filter-spec', {
    maxBytes: MAX_SPEC_BYTES,
    headers,
    expected: [304, 404],
  })
  if (status === 304) return current
  if (status === 404) return null
  try {
    const spec = readUpstreamSpec(body)
    return current !== null && current.etag !== null && spec.etag === current.etag ? current : spec
  } catch (cause) {
    throw new SourceError('not_json', (cause as Error).message, { cause })
  }
}
