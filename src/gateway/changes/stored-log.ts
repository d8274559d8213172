import type { Clock } from '../../domain/clock.ts'
import { Emitter } from '../../domain/emitter.ts'
import { type FeedEntry, PUSHED_OUT } from '../../domain/feed-entry.ts'
import { randomId } from '../../domain/random-id.ts'
import { SingleFlight } from '../../domain/single-flight.ts'
import type { Copy } from '../../listing-index/copy.ts'
import type { Feed, NewFeedChange } from '../../store/feed.ts'
import type { SourceChange } from './copy-state.ts'
import { EarlierCopies } from './earlier-copies.ts'
import { LogInMemory, nameOf } from './log-in-memory.ts'

/** Entries per read, and per append: about 10 ms of SQLite. */
const BATCH = 250
/** Longest time between reads, in ms: a notification can be lost. */
const POLL_INTERVAL_MS = 10_000
/** Wait before a failed append or read is repeated, in ms. */
const RETRY_MS = 500
/** Of the log, here and in the store. */
const MAX_LOG_BYTES = 32 * 1024 * 1024

export type StoredLogOptions = {
  feed: Feed
  /** Whether other processes append changes of the same upstreams. */
  isShared: boolean
  retentionMs: number
  clock: Clock
  onFault: (cause: unknown) => void
}

/** The own Registry: it follows a changelog, which is ahead of the log of changes. */
export type FollowedRegistry = {
  name: string
  /** Of the changelog. */
  position: () => string
  /** Resolves when every change of the store before this call is in memory. */
  catchUp: () => Promise<void>
  /** Ids that have changed since a position of the changelog; `lost` where that is not known, or not of which publisher. */
  changedSince: (position: string) => Promise<readonly string[] | 'lost'>
}

/** What the log has to know of the sources. */
type Known = {
  /** `null` without an own Registry. */
  registry: () => FollowedRegistry | null
  /** Whether the change of an entry of the own Registry is not in memory yet. */
  isAhead: (entry: FeedEntry) => boolean
}

/** The log of the store as this process has it in memory: it appends what is put, and reads what all processes append. */
export class StoredLog {
  readonly log = new LogInMemory()
  readonly earlier = new EarlierCopies()
  /** After entries became readable. */
  readonly advanced = new Emitter<void>()
  /** Of positions that are good in this process only; empty where all processes share one log. */
  readonly epoch: string
  /** Of entries, by age. */
  retentionMs: number
  readonly #options: StoredLogOptions
  readonly #known: Known
  /** To be appended, by source and key. */
  #queue = new Map<string, NewFeedChange>()
  /** Of the same names, until they are readable. */
  readonly #inFlight = new Set<string>()
  readonly #reads = new SingleFlight(() => this.#readAll())
  readonly #appends = new SingleFlight(() => this.#appendAll())
  readonly #endFollowing: () => void
  #cancelRead: (() => void) | null = null
  #cancelAppend: (() => void) | null = null
  #isFaulty = false
  #isClosed = false

  constructor(options: StoredLogOptions, known: Known) {
    this.#options = options
    this.#known = known
    this.retentionMs = options.retentionMs
    this.epoch = options.isShared ? '' : randomId()
    this.#endFollowing = options.feed.onAppend(() => this.#readInBackground())
  }

  /** Whether memory is ahead of the log in that entry. */
  isPending(name: string): boolean {
    return this.#queue.has(name) || this.#inFlight.has(name)
  }

  /** For the next `append`. @param before the copy that was shown before the change; absent where it is not known */
  put(change: SourceChange, before?: Copy | null): void {
    const name = nameOf(change)
    const { position = 0, state } = this.log.latest(change.source, change.key) ?? {}
    // A reader may keep what was pushed out.
    const known = state === PUSHED_OUT ? undefined : before
    this.earlier.put(name, { before: known, after: change.state }, position)
    this.#queue.set(name, { ...change, known: this.log.end })
  }

  /** Appends what was put. Resolves when all is appended, or after a failure, which is tried again. */
  async append(): Promise<void> {
    if (this.#queue.size === 0 || this.#isClosed) return
    await this.#appends.joinNext().then(
      () => this.append(),
      (cause: unknown) => {
        this.fail(cause)
        this.#cancelAppend?.()
        this.#cancelAppend = this.#options.clock.after(RETRY_MS, () => this.append())
      },
    )
  }

  /** Resolves when every entry before this call is readable here. */
  read(): Promise<void> {
    return this.#reads.joinNext()
  }

  /** The first entry of a log, with the place in the changelog from which the own Registry is followed. */
  begin({ position }: FollowedRegistry): Promise<void> {
    return this.#write([], position())
  }

  /** Once, until reads succeed again. */
  fail(cause: unknown): void {
    if (this.#isFaulty || this.#isClosed) return
    this.#isFaulty = true
    this.#options.onFault(cause)
  }

  /** Resolves when what was put is appended, or the store has failed: the next process may hold the change, and cannot know that it was one. */
  async close(): Promise<void> {
    await this.append()
    this.#isClosed = true
    this.#endFollowing()
    this.#cancelRead?.()
    this.#cancelAppend?.()
  }

  async #appendAll(): Promise<void> {
    while (this.#queue.size > 0 && !this.#isClosed) {
      const batch = [...this.#queue].slice(0, BATCH)
      for (const [name] of batch) {
        this.#queue.delete(name)
        this.#inFlight.add(name)
      }
      try {
        const position = this.#queue.size === 0 ? (this.#known.registry()?.position() ?? null) : null
        const changes = batch.map(([, change]) => change)
        await this.#write(changes, position)
      } catch (cause) {
        // What has changed meanwhile is later.
        this.#queue = new Map([...batch, ...this.#queue])
        throw cause
      }
      await this.read()
      this.#inFlight.clear()
    }
  }

  #write(changes: readonly NewFeedChange[], followed: string | null): Promise<void> {
    const { retentionMs } = this
    return this.#options.feed.append(changes, { followed, maxBytes: MAX_LOG_BYTES, retentionMs })
  }

  async #readAll(): Promise<void> {
    const { feed } = this.#options
    const { registry, isAhead } = this.#known
    const { log } = this
    const { added, incarnation } = log
    for (let isWhole = false; !isWhole; ) {
      const read = await feed.read(log.end, BATCH)
      if (read.incarnation !== log.incarnation) {
        const from = log.end
        log.begin(read.incarnation)
        this.earlier.clear()
        if (from > 0) continue
      } else if (read.end < log.end) {
        // The store has lost entries, so numbers come again.
        await feed.renew(registry()?.position() ?? null)
        continue
      }
      if (read.entries.some(isAhead)) await registry()?.catchUp()
      for (const entry of read.entries) if (entry.position > log.end) this.earlier.read(nameOf(entry), entry)
      log.add(read)
      isWhole = read.entries.length < BATCH
    }
    this.#isFaulty = false
    this.#readAfter(POLL_INTERVAL_MS)
    if (log.added !== added || log.incarnation !== incarnation) this.advanced.emit()
  }

  #readInBackground(): void {
    if (this.#isClosed) return
    this.#reads.joinNext().catch((cause: unknown) => {
      this.fail(cause)
      this.#readAfter(RETRY_MS)
    })
  }

  #readAfter(ms: number): void {
    this.#cancelRead?.()
    this.#cancelRead = this.#isClosed ? null : this.#options.clock.after(ms, () => this.#readInBackground())
  }
}
