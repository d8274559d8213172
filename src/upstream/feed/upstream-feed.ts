import { setImmediate } from 'node:timers/promises'
import { coversRegistry } from '../../domain/source/missing-source.ts'
import type { SourceReason } from '../../domain/source/reasons.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { isShown } from '../../wire/describe-missing.ts'
import { POSITION, queryParameters } from '../page/fetch-page.ts'
import { conditionsOf, MAX_ITEM_BYTES } from '../page/listing-page.ts'
import type { UpstreamQuery } from '../push-down.ts'
import type { HeldListings } from '../snapshot/held-listings.ts'
import type { PullContext } from '../snapshot/snapshot-state.ts'
import { readEvents, type StreamEvent } from './event-stream.ts'
import { type FeedChange, readChange } from './feed-change.ts'

type UpstreamFeedOptions = PullContext & {
  held: HeldListings
  /** Pulls the whole: what is held may be wrong. */
  pull: () => void
  /** Whether it is followed has changed, and with it the periods of pulls. */
  onChange: () => void
}

/** A stream that is silent for so long is opened again: an entrepot sends a comment every 15 s. */
const SILENCE_MS = 45_000
/** Between attempts, doubled with each that fails. */
const MIN_WAIT_MS = 1000
const MAX_WAIT_MS = 60_000
/** Of a change besides its listing: its `_meta` and key. */
const MAX_META_BYTES = 256 * 1024
const MAX_BODY_BYTES = 64 * 1024
/** What waits to be applied, and what comes within a minute. */
const MAX_QUEUED = 1000
const MAX_BYTES_A_MINUTE = 64 * 1024 * 1024
const MINUTE_MS = 60_000
/** Applied in one turn. */
const BATCH = 100
/** By then the stream has repeated what changed during a pull. */
const SETTLE_MS = 10_000
/** The stream is wrong, or its position: only a pull helps. */
const DOUBTS: readonly SourceReason[] = ['bad_envelope', 'not_json', 'too_large', 'http_400', 'http_410']

/** Follows `GET /changes` of an upstream from the position of its latest pull on, and applies the changes to what is held. */
export class UpstreamFeed {
  readonly #options: UpstreamFeedOptions
  #connection: AbortController | null = null
  #cancel = (): void => {}
  #cancelSettling = (): void => {}
  #failures = 0
  #isClosed = false
  /** Listings that the latest pull had otherwise, and the stream has not named since. */
  readonly #suspects = new Set<string>()

  constructor(options: UpstreamFeedOptions) {
    this.#options = options
  }

  /** After a pull: what has changed since it began comes again. `differences`: ids that it had otherwise than the stream. */
  restart(differences: readonly string[]): void {
    this.#end()
    if (this.#isClosed) return
    const { state } = this.#options
    state.isPartlyFollowed = false
    if (state.current?.feedPosition === undefined) {
      this.#setFollowed(false)
      return
    }
    for (const id of differences) this.#suspects.add(id)
    if (this.#suspects.size > 0)
      this.#cancelSettling = this.#options.clock.after(SETTLE_MS, () => this.#countDifferences())
    this.#connect()
  }

  close(): void {
    this.#isClosed = true
    this.#end()
  }

  #end(): void {
    this.#cancel()
    this.#cancelSettling()
    this.#suspects.clear()
    this.#connection?.abort(new Error('closed'))
    this.#connection = null
  }

  #connect(): void {
    const since = this.#options.state.current?.feedPosition
    if (since === undefined || this.#isClosed) return
    const connection = new AbortController()
    this.#connection = connection
    const startedAt = this.#options.clock.monotonic()
    this.#follow(since, connection).then(
      () => this.#connectAgain(connection, startedAt, null),
      (error: unknown) => this.#connectAgain(connection, startedAt, error),
    )
  }

  /** Resolves when the upstream ends the stream. */
  async #follow(since: string, connection: AbortController): Promise<void> {
    const { get } = this.#options
    const query = this.#options.query()
    const queue = queueEvents(this.#options, {
      signal: connection.signal,
      take: (events) => this.#apply(events, query),
      fail: (error) => connection.abort(error),
    })
    const { onLine, onEmptyLine } = readEvents(queue.add)
    await get(`/changes?${queryParameters(query)}&since=${since}`, {
      purpose: 'feed',
      maxBytes: MAX_BODY_BYTES,
      timeoutMs: SILENCE_MS,
      headers: { 'accept-encoding': 'identity' },
      lines: {
        mediaType: 'text/event-stream',
        maxLineBytes: MAX_ITEM_BYTES + MAX_META_BYTES,
        maxStreamMs: Number.POSITIVE_INFINITY,
        signal: connection.signal,
        onEmptyLine,
        onLine: (line) => {
          queue.count(line.length)
          this.#heard()
          onLine(line)
        },
      },
    })
    await queue.idle()
  }

  #heard(): void {
    const { state, clock } = this.#options
    if (state.current !== null) state.current.heardAt = clock.monotonic()
    this.#setFollowed(true)
  }

  #setFollowed(isFollowed: boolean): void {
    const { state, log, upstream, onChange } = this.#options
    if (state.isFollowed === isFollowed) return
    state.isFollowed = isFollowed
    log.info(
      { upstream: upstream.name },
      isFollowed ? 'upstream is followed' : 'upstream is followed no longer',
    )
    onChange()
  }

  /** @throws SourceError for what is no change */
  #apply(events: readonly StreamEvent[], query: UpstreamQuery): void {
    const { held, state, onChange, upstream } = this.#options
    const conditions = conditionsOf(query)
    const changes = events.flatMap(({ data }) => (data && readChange(data, upstream.kind, conditions)) ?? [])
    const position = events.findLast(({ id }) => id !== null && POSITION.test(id))?.id ?? null
    for (const id of held.apply(changes, position)) this.#suspects.delete(id)
    const before = state.isPartlyFollowed
    for (const change of changes)
      if (change.kind === 'source' && this.#isUnknownState(change)) state.isPartlyFollowed = true
    if (state.isPartlyFollowed !== before) onChange()
  }

  /** Whether a pull would say otherwise whether the source is missing. */
  #isUnknownState({ registry, state }: FeedChange & { kind: 'source' }): boolean {
    const isMissing = !isShown(state)
    const { missing = [] } = this.#options.state.current ?? {}
    const isReported = missing.some((entry) => entry.state !== 'partial' && coversRegistry(entry, registry))
    return isMissing !== isReported
  }

  #connectAgain(connection: AbortController, startedAt: number, error: unknown): void {
    if (this.#isClosed || connection !== this.#connection) return
    const { clock, random, log, upstream } = this.#options
    const reason = error instanceof SourceError ? error.reason : null
    const isDoubt = reason !== null && DOUBTS.includes(reason)
    if (clock.monotonic() - startedAt > SILENCE_MS) this.#failures = 0
    this.#failures++
    if (error !== null) {
      this.#countFailure(reason ?? 'connection_reset')
      log.warn({ upstream: upstream.name, reason }, 'stream of changes ended')
    }
    if (isDoubt || this.#failures > 1) this.#setFollowed(false)
    const backoffMs = Math.min(MIN_WAIT_MS * 2 ** (this.#failures - 1), MAX_WAIT_MS) * (0.5 + random())
    const waitMs = Math.max(backoffMs, error instanceof SourceError ? (error.retryAfterMs ?? 0) : 0)
    this.#cancel = clock.after(waitMs, () => (isDoubt ? this.#options.pull() : this.#connect()))
  }

  #countFailure(reason: SourceReason): void {
    const { feedFailures } = this.#options.state
    feedFailures[reason] = (feedFailures[reason] ?? 0) + 1
  }

  /** The stream is never trusted alone: what a pull had otherwise, and the stream did not name, it has missed. */
  #countDifferences(): void {
    const { state, log, upstream } = this.#options
    const listings = this.#suspects.size
    this.#suspects.clear()
    if (listings === 0) return
    state.feedDifferences += listings
    log.warn({ upstream: upstream.name, listings }, 'stream of changes had missed changes')
  }
}

/**
 * Events of one connection, within limits. They are taken in turns, so that many of them leave time for readers.
 * @param fail ends the connection
 */
function queueEvents(
  { upstream, clock }: Pick<UpstreamFeedOptions, 'upstream' | 'clock'>,
  {
    signal,
    take,
    fail,
  }: { signal: AbortSignal; take: (events: readonly StreamEvent[]) => void; fail: (error: unknown) => void },
) {
  const waiting: StreamEvent[] = []
  let minute = { startedAt: 0, bytes: 0 }
  let running: Promise<void> | null = null
  const tooMuch = (): SourceError =>
    new SourceError('too_large', `${upstream.name}: sends more changes than may be taken`)

  return {
    /** @throws SourceError `too_large` */
    count: (bytes: number): void => {
      const now = clock.monotonic()
      if (now - minute.startedAt > MINUTE_MS) minute = { startedAt: now, bytes: 0 }
      minute.bytes += bytes
      if (minute.bytes > MAX_BYTES_A_MINUTE) throw tooMuch()
    },
    /** @throws SourceError `too_large` */
    add: (event: StreamEvent): void => {
      waiting.push(event)
      if (waiting.length > MAX_QUEUED) throw tooMuch()
      running ??= takeAll()
        .catch(fail)
        .finally(() => (running = null))
    },
    /** Resolves when nothing waits. */
    idle: () => running,
  }

  async function takeAll(): Promise<void> {
    while (waiting.length > 0) {
      await setImmediate()
      if (signal.aborted) return
      take(waiting.splice(0, BATCH))
    }
  }
}
