import type { Clock } from '../../domain/clock.ts'
import { SourceError } from '../../domain/source-error.ts'
import { readUpstreamSpec, type UpstreamSpec } from '../../filter-spec/upstream-spec.ts'
import type { Get } from '../http/get.ts'

/** Most bytes of a filter spec, its listing shape included. */
const MAX_SPEC_BYTES = 1024 * 1024
/** How long a filter spec is used without asking again. */
export const SPEC_FRESH_MS = 60_000
/** Delay after a failure before the next attempt. */
export const SPEC_RETRY_MS = 5_000

/**
 * What is known of one upstream's filter spec. It is fetched at once, and again in the background when it is used and
 * old. While the upstream cannot be reached, the last one stays; where there never was one, nothing is declared.
 */
export class FilterSpecCache {
  readonly #get: Get
  readonly #clock: Clock
  /** Settles when the first fetch has ended, with whatever outcome. */
  readonly loaded: Promise<void>
  #spec: UpstreamSpec | null = null
  #hasAnswered = false
  #running: Promise<void> | null = null
  #isFresh = false
  #cancel: () => void = () => {}

  constructor(get: Get, clock: Clock) {
    this.#get = get
    this.#clock = clock
    this.loaded = this.#refresh()
  }

  /** `null` where none is known: an answer 404, or none at all. */
  get current(): UpstreamSpec | null {
    if (!this.#isFresh) void this.#refresh()
    return this.#spec
  }

  /** Whether the upstream has ever answered, be it with 404. */
  get isKnown(): boolean {
    return this.#hasAnswered
  }

  /**
   * Fetches it again because an answer has refuted `doubted`, unless another is known by now. Never rejects.
   */
  async recheck(doubted: UpstreamSpec | null): Promise<UpstreamSpec | null> {
    if (this.#spec === doubted) await this.#refresh()
    return this.#spec
  }

  /** Fetches it again in the background. */
  refresh(): void {
    void this.#refresh()
  }

  close(): void {
    this.#cancel()
  }

  #refresh(): Promise<void> {
    this.#running ??= this.#fetch().finally(() => {
      this.#running = null
    })
    return this.#running
  }

  async #fetch(): Promise<void> {
    this.#isFresh = true
    try {
      this.#spec = await fetchFilterSpec(this.#get, this.#spec)
      this.#hasAnswered = true
      this.#expireAfter(SPEC_FRESH_MS)
    } catch {
      // Listings are read all the same, and a failure of theirs is reported to readers.
      this.#expireAfter(SPEC_RETRY_MS)
    }
  }

  #expireAfter(ms: number): void {
    this.#cancel()
    this.#cancel = this.#clock.after(ms, () => {
      this.#isFresh = false
    })
  }
}

/**
 * `GET {url}/filter-spec`; `null` where there is none (404), `known` where it has not changed (304).
 * @throws SourceError `not_json` for an answer that is not a filter spec, or why there was no answer
 */
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
