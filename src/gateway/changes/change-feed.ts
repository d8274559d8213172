import type { Clock } from '../../domain/clock.ts'
import { Emitter } from '../../domain/emitter.ts'
import { type FeedEntry, GONE, PROCESS_START, PUSHED_OUT, WHOLE_SOURCE } from '../../domain/feed-entry.ts'
import { randomId } from '../../domain/random-id.ts'
import { SingleFlight } from '../../domain/single-flight.ts'
import type { Holding, HoldingChange } from '../../domain/source/holding.ts'
import type { Copy } from '../../listing-index/copy.ts'
import type { CopyIndex } from '../../listing-index/copy-index.ts'
import type { Feed, NewFeedChange } from '../../store/feed.ts'
import { ChangeLog, nameOf } from './change-log.ts'
import { EarlierCopies } from './earlier-copies.ts'
import type { FollowedRegistry } from './followed-registry.ts'
import { changesBetween, statesOf } from './held-copy.ts'
import { unloggedChanges } from './unlogged-changes.ts'

/** Entries per read, and per append: about 10 ms of SQLite. */
const BATCH = 250
/** Longest time between reads, in ms: a notification can be lost. */
const POLL_INTERVAL_MS = 10_000
/** Wait before a failed append or read is repeated, in ms. */
const RETRY_MS = 500
/** Of the log, here and in the store. */
const MAX_LOG_BYTES = 32 * 1024 * 1024

type Attached = {
  sources: readonly Holding[]
  registry: FollowedRegistry | null
  /** Whether the operator leaves out a copy of that source now. */
  isDenied: (copy: Copy, source: string) => boolean
}

type ChangeFeedOptions = {
  feed: Feed
  index: CopyIndex
  /** Whether other processes append changes of the same upstreams. */
  isShared: boolean
  retentionMs: number
  clock: Clock
  onFault: (cause: unknown) => void
}

/**
 * Appends what changes in the sources to the log of the store, and follows that log. An entry is readable here
 * only when this process has its change, or will append its own: docs/decisions/0030-a-log-of-changes.md.
 */
export class ChangeFeed {
  readonly log = new ChangeLog()
  /** After entries became readable. */
  readonly advanced = new Emitter<void>()
  /** Of positions that are good in this process only; empty where all processes share one log. */
  readonly epoch: string
  /** Of entries, by age. */
  retentionMs: number
  readonly #options: ChangeFeedOptions
  readonly #attached = new Set<Attached & { byName: ReadonlyMap<string, Holding> }>()
  /** By the `follow` of each source: a reload opens the same sources again. */
  readonly #followed = new WeakSet<Holding['follow']>()
  /** Copies before the change that is made. */
  readonly #changing = new Map<string, readonly Copy[]>()
  readonly earlier = new EarlierCopies()
  /** To be appended, by source and key. */
  #queue = new Map<string, NewFeedChange>()
  /** Of the same names, until they are readable. */
  readonly #inFlight = new Set<string>()
  /** Sources that did not answer from memory since that position. */
  readonly #away = new Map<string, number>()
  readonly #reads = new SingleFlight(() => this.#readAll())
  readonly #appends = new SingleFlight(() => this.#appendAll())
  readonly #ends: readonly (() => void)[]
  #cancelRead: (() => void) | null = null
  #cancelAppend: (() => void) | null = null
  #isFaulty = false
  #isRecovered = false
  #isClosed = false

  /** Reads the whole log, and begins its own part of it. */
  static async open(options: ChangeFeedOptions): Promise<ChangeFeed> {
    const feed = new ChangeFeed(options)
    await feed.read()
    feed.#enqueue({ source: PROCESS_START, key: randomId(), listingId: '', publisher: null, state: '' })
    await feed.#appendInBackground()
    return feed
  }

  private constructor(options: ChangeFeedOptions) {
    this.#options = options
    this.retentionMs = options.retentionMs
    this.epoch = options.isShared ? '' : randomId()
    const { feed, index } = options
    this.#ends = [
      feed.onAppend(() => this.#readInBackground()),
      index.onChanging((ids) => {
        for (const id of ids) this.#changing.set(id, index.copiesOf(id))
      }),
      index.onTouched((ids) => this.#takeAll(ids)),
    ]
  }

  /** Follows these sources as well, until the returned function is called. */
  attach(attached: Attached): () => void {
    const { sources, registry } = attached
    const known = { ...attached, byName: new Map(sources.map((source) => [source.name, source])) }
    this.#attached.add(known)
    const ends = sources.map((source) => source.follow((change) => this.#take(source, change)))
    for (const source of sources) this.#begin(source)
    if (registry !== null && !this.#isRecovered) {
      this.#isRecovered = true
      this.#recover(registry).catch((cause: unknown) => {
        this.#isRecovered = false
        this.#failed(cause)
      })
    }
    return () => {
      for (const end of ends) end()
      this.#attached.delete(known)
    }
  }

  /** Whether memory is ahead of the log in that entry. */
  isPending(name: string): boolean {
    return this.#queue.has(name) || this.#inFlight.has(name)
  }

  /** Lets readers look again at listings that other rules of the operator hide or show now. */
  lookAgain(name: string, listingIds: Iterable<string>): void {
    const [source] = this.#named(name)
    if (source === undefined) return
    for (const listingId of listingIds) this.#enqueueAgain(name, source, listingId)
    this.#appendInBackground()
  }

  /** Resolves when every entry before this call is readable here. */
  read(): Promise<void> {
    return this.#reads.joinNext()
  }

  close(): void {
    this.#isClosed = true
    for (const end of this.#ends) end()
    this.#cancelRead?.()
    this.#cancelAppend?.()
  }

  /** A source that may have been held before. */
  #begin(source: Holding): void {
    const { follow, coverage } = source
    if (this.#followed.has(follow)) return
    this.#followed.add(follow)
    if (source.isOwn) return
    if (this.#away.get(source.name) === undefined) this.#away.set(source.name, this.log.end)
    if (coverage() === 'whole' || coverage() === 'partial')
      this.#take(source, { kind: 'held', isContinued: true })
  }

  #take(source: Holding, change: HoldingChange): void {
    const { index } = this.#options
    switch (change.kind) {
      case 'replaced': {
        const { from, to } = change
        if (from === null) break
        for (const listingId of new Set(index.differences(from, to))) {
          const copies = index.copiesOf(listingId)
          this.#enqueueChanges(source, listingId, rowsOf(copies, from), rowsOf(copies, to))
        }
        break
      }
      case 'hidden':
        this.#leave(source)
        break
      case 'shown':
        if (this.#options.isShared) this.#continue(source, false)
        this.#return(source)
        break
      case 'held':
        // While the source refuses our key nothing of it is found, and nothing is gone.
        if (change.isContinued && this.#options.isShared) {
          if (source.coverage() !== 'none') this.#continue(source, true)
        } else this.#enqueue({ ...WHOLE, source: source.name, state: randomId() })
        this.#return(source)
    }
    this.#appendInBackground()
  }

  /** Changes of rows that are read now. */
  #takeAll(listingIds: readonly string[]): void {
    for (const listingId of listingIds) {
      const before = this.#changing.get(listingId) ?? []
      this.#changing.delete(listingId)
      const after = this.#options.index.copiesOf(listingId)
      for (const number of new Set([...before, ...after].map((copy) => copy.source))) {
        const source = this.#sourceOf(number)
        if (source === undefined || source.coverage() === 'loading') continue
        this.#enqueueChanges(source, listingId, rowsOf(before, number), rowsOf(after, number))
      }
    }
    this.#appendInBackground()
  }

  #enqueueChanges(source: Holding, listingId: string, before: readonly Copy[], after: readonly Copy[]): void {
    const { name } = source
    const isDenied = (copy: Copy): boolean => [...this.#attached].some((one) => one.isDenied(copy, name))
    const isPushedOut = ({ position }: Copy): boolean => {
      const number = source.coverage() === 'partial' ? source.rows() : null
      const [oldest] = number === null ? [] : this.#options.index.walk(number, 'oldest').take(1)
      return oldest !== undefined && position <= oldest.position
    }
    const about = { source: name, listingId, isDenied, isPushedOut }
    for (const [entry, earlier] of changesBetween(before, after, about)) this.#enqueue(entry, earlier)
  }

  /** Whose rows of that number are read. */
  #sourceOf(number: number): Holding | undefined {
    return this.#named(this.#options.index.about(number).name).find((source) => source.rows() === number)
  }

  /** A reload has two of one name for a moment. */
  #named(name: string): Holding[] {
    return [...this.#attached].flatMap(({ byName }) => byName.get(name) ?? [])
  }

  /** What the source has of one id. */
  #statesOf(source: Holding, listingId: string): ReturnType<typeof statesOf> {
    return statesOf(rowsOf(this.#options.index.copiesOf(listingId), source.rows()), source.name)
  }

  /** As changes of the source of that name: readers look again at the listings that the other one has under this id. */
  #enqueueAgain(name: string, other: Holding, listingId: string): void {
    for (const [key, { publisher }] of this.#statesOf(other, listingId))
      this.#enqueue({ source: name, key, listingId, publisher, state: randomId() })
  }

  /** Copies of worse sources are shown from now on. */
  #leave(source: Holding): void {
    const { name } = source
    this.#away.set(name, this.log.end)
    for (const listingId of this.#idsOf(source))
      for (const other of this.#othersWith(listingId, name)) this.#enqueueAgain(name, other, listingId)
  }

  #idsOf(source: Holding): ReadonlySet<string> {
    const number = source.rows()
    if (number === null) return new Set()
    return new Set(this.#options.index.walk(number, 'oldest').map(({ listingId }) => listingId))
  }

  /** Its copies count again: of what others have as well, and of what has changed meanwhile. */
  #return(source: Holding): void {
    const { name } = source
    const since = this.#away.get(name) ?? this.log.end
    this.#away.delete(name)
    const listingIds = this.#idsOf(source)
    const changed = this.log.changedAfter(since, listingIds)
    for (const listingId of listingIds)
      if (changed.has(listingId) || this.#othersWith(listingId, name).length > 0)
        for (const [key, { publisher, state }] of this.#statesOf(source, listingId))
          this.#enqueue({ source: name, key, listingId, publisher, state })
  }

  /**
   * What differs from what the log has of the source. `isBegun`: what the log has, too. The process before this one may
   * have handed out entries of other replicas whose changes it did not have yet.
   */
  #continue(holding: Holding, isBegun: boolean): void {
    const { name: source } = holding
    for (const { source: of, key, listingId, publisher, state } of this.log.after(0)) {
      if (of !== source || key === WHOLE_SOURCE) continue
      const absent = state === PUSHED_OUT ? PUSHED_OUT : GONE
      const now = this.#statesOf(holding, listingId).get(key)?.state ?? absent
      if (isBegun || now !== state) this.#enqueue({ source, key, listingId, publisher, state: now })
    }
  }

  /** Changes of the store that a process did not append before it ended. */
  async #recover(registry: FollowedRegistry): Promise<void> {
    const { feed } = this.#options
    const { followed } = await feed.read(this.log.end, 1)
    if (followed === null) return this.#append([], registry.position())
    const listingIds = await registry.changedSince(followed)
    const { name } = registry
    const [own] = this.#named(name)
    const statesOf = (id: string) => (own === undefined ? new Map() : this.#statesOf(own, id))
    const changes = listingIds === 'lost' ? null : unloggedChanges(this.log, { name, statesOf }, listingIds)
    for (const change of changes ?? []) this.#enqueue(change)
    if (changes === null) {
      await feed.renew(registry.position())
      await this.read()
    }
    this.#appendInBackground()
  }

  #othersWith(listingId: string, source: string): Holding[] {
    const numbers = new Set(this.#options.index.copiesOf(listingId).map((copy) => copy.source))
    return [...numbers].flatMap((n) => this.#sourceOf(n) ?? []).filter(({ name }) => name !== source)
  }

  /** @param before the copy that was shown before the change; absent where it is not known */
  #enqueue(change: Omit<NewFeedChange, 'known'>, before?: Copy | null): void {
    const name = nameOf(change)
    const latest = this.log.latest(change.source, change.key)?.position ?? 0
    this.earlier.put(name, { before, after: change.state }, latest)
    this.#queue.set(name, { ...change, known: this.log.end })
  }

  async #appendAll(): Promise<void> {
    while (this.#queue.size > 0 && !this.#isClosed) {
      const batch = [...this.#queue].slice(0, BATCH)
      for (const [name] of batch) {
        this.#queue.delete(name)
        this.#inFlight.add(name)
      }
      try {
        const position = this.#queue.size === 0 ? (this.#registry()?.position() ?? null) : null
        const changes = batch.map(([, change]) => change)
        await this.#append(changes, position)
      } catch (cause) {
        // What has changed meanwhile is later.
        this.#queue = new Map([...batch, ...this.#queue])
        throw cause
      }
      await this.read()
      this.#inFlight.clear()
    }
  }

  #append(changes: readonly NewFeedChange[], followed: string | null): Promise<void> {
    const { retentionMs } = this
    return this.#options.feed.append(changes, { followed, maxBytes: MAX_LOG_BYTES, retentionMs })
  }

  /** Resolves when all is appended, or after a failure. */
  async #appendInBackground(): Promise<void> {
    if (this.#queue.size === 0 || this.#isClosed) return
    await this.#appends.joinNext().then(
      () => this.#appendInBackground(),
      (cause: unknown) => {
        this.#failed(cause)
        this.#cancelAppend?.()
        this.#cancelAppend = this.#options.clock.after(RETRY_MS, () => this.#appendInBackground())
      },
    )
  }

  async #readAll(): Promise<void> {
    const { feed } = this.#options
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
        await feed.renew(this.#registry()?.position() ?? null)
        continue
      }
      if (read.entries.some((entry) => this.#isAhead(entry))) await this.#registry()?.catchUp()
      for (const entry of read.entries) if (entry.position > log.end) this.earlier.read(nameOf(entry), entry)
      log.add(read)
      isWhole = read.entries.length < BATCH
    }
    this.#isFaulty = false
    this.#readAfter(POLL_INTERVAL_MS)
    if (log.added !== added || log.incarnation !== incarnation) this.advanced.emit()
  }

  /** Whether the change of an entry of the own Registry is not in memory yet. */
  #isAhead({ source, key, listingId, state }: FeedEntry): boolean {
    if (this.#registry()?.name !== source) return false
    return this.#named(source).some(
      (one) => (this.#statesOf(one, listingId).get(key)?.state ?? GONE) !== state,
    )
  }

  /** The one that was attached first: the others have what it has. */
  #registry(): FollowedRegistry | null {
    return [...this.#attached].find(({ registry }) => registry !== null)?.registry ?? null
  }

  #readInBackground(): void {
    if (this.#isClosed) return
    this.#reads.joinNext().catch((cause: unknown) => {
      this.#failed(cause)
      this.#readAfter(RETRY_MS)
    })
  }

  #readAfter(ms: number): void {
    this.#cancelRead?.()
    this.#cancelRead = this.#isClosed ? null : this.#options.clock.after(ms, () => this.#readInBackground())
  }

  #failed(cause: unknown): void {
    if (this.#isFaulty || this.#isClosed) return
    this.#isFaulty = true
    this.#options.onFault(cause)
  }
}

const WHOLE = { key: WHOLE_SOURCE, listingId: '', publisher: null }

function rowsOf(copies: readonly Copy[], number: number | null): Copy[] {
  return copies.filter(({ source }) => source === number)
}
