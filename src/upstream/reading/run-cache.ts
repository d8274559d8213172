import { hash } from 'node:crypto'
import type { CacheEntry, LruCache } from '../../cache/lru.ts'
import type { RedisCache } from '../../cache/redis.ts'
import { type Clock, raceAbort } from '../../domain/clock.ts'
import type { ListingQuery } from '../../domain/query.ts'
import {
  type CacheDecision,
  type CachePolicy,
  type Lifetime,
  lifetimeOf,
  phaseAt,
} from '../../domain/source/freshness.ts'
import type { Range, ReadingInfo } from '../../domain/source/reading.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { isAboutQuestion, isRefusal, type SourceReason } from '../../domain/source/source-reason.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'
import { filterNameOf } from '../../filter-spec/parameters.ts'
import type { Run } from './run.ts'
import { StoredRun } from './stored-run.ts'

/** Reads on from `base`, if given. */
export type ReadRun = (query: ListingQuery, range: Range, signal: AbortSignal, base?: Run) => Promise<Run>

export type ServedRun = Pick<ReadingInfo, 'stale' | 'reason' | 'cache' | 'isCurrent'> & { run: Run }

export type RunCacheOptions = {
  upstream: Identity & Pick<UpstreamOptions, 'name' | 'timeoutMs' | 'scanLimit'>
  read: ReadRun
  runs: LruCache<StoredRun>
  /** `null` without Redis. */
  sharedRuns: RedisCache | null
  state: RunCacheState
  policy: CachePolicy
  /** `isHit`: without a request that the reader waited for. */
  onServe: (isHit: boolean) => void
  /** Even if no reader waits any more. */
  maxReadMs: number
  clock: Clock
  random: () => number
}

const LOCK_POLL_MS = 25

/** What the cache of the next runtime continues with, beside the runs. */
export class RunCacheState {
  /** Question → key of its latest run, where cursors continue. */
  readonly latest = new Map<string, string>()
  readonly counts: Record<CacheDecision['outcome'], number> = { hit: 0, revalidating: 0, stale: 0, miss: 0 }
  /** Raised by `drop`: older reads are not stored. */
  readonly generation = { value: 0 }
}

/**
 * Serves runs while fresh, then stale while revalidating, then only if reading fails. Short runs are read on.
 * Single flight among replicas, with its own deadline: a caller that hangs up does not fail the others.
 */
export class RunCache {
  readonly #options: RunCacheOptions
  readonly #group: string
  readonly #inFlight = new Map<string, Promise<Entry>>()
  readonly #state: RunCacheState

  constructor(options: RunCacheOptions) {
    this.#options = options
    this.#state = options.state
    this.#group = cacheGroup(options.upstream)
  }

  get counts(): Readonly<Record<CacheDecision['outcome'] | 'bytes', number>> {
    return { ...this.#state.counts, bytes: this.#options.runs.bytes(this.#group) }
  }

  drop(): void {
    this.#state.generation.value++
    this.#state.latest.clear()
    this.#options.runs.drop(this.#group)
    void this.#options.sharedRuns?.drop(this.#group)
  }

  async read(query: ListingQuery, range: Range, signal: AbortSignal): Promise<ServedRun> {
    const { clock } = this.#options
    const question = questionKey(query)
    const { after } = range
    // A run from the top has the key of its question.
    const key = after === null ? question : `${question}@${after.position}@${after.listingId}`
    const task: ReadTask = { query, range, question, key }
    const stored = this.#find(task) ?? (await this.#findShared(task))
    const phase = stored === null ? 'expired' : phaseAt(stored.lifetime, clock.now())
    const isUsable = stored !== null && phase !== 'expired' && stored.run.covers(range)
    if (isUsable && phase === 'fresh' && query.caching !== 'no-cache') return this.#serve(stored, 'hit')
    if (isUsable && phase === 'revalidate' && query.caching === undefined) {
      // Readers that wait for the run get the failure.
      this.#readOnce(task).catch(() => {})
      return this.#serve(stored, 'revalidating')
    }
    if (query.caching === 'only-if-cached') {
      if (isUsable) return this.#serve(stored, phase === 'if_error' ? 'stale' : 'revalidating')
      // RFC 9111 section 5.2.1.7: answered with 504 (Gateway Timeout).
      throw new SourceError('timeout', `${this.#options.upstream.name}: nothing is cached`)
    }
    const base = phase === 'fresh' && query.caching === undefined ? stored!.run : undefined
    try {
      const reading = this.#readOnce({ ...task, base })
      // Without a stored run, the caller waits for its own deadline.
      return this.#serve(isUsable ? await raceAbort(reading, signal) : await reading, 'miss')
    } catch (error) {
      const isStillUsable = isUsable && phaseAt(stored.lifetime, clock.now()) !== 'expired'
      if (!isStillUsable || !isStaleIfError(error)) throw error
      return this.#serve(stored, 'stale', error.reason)
    }
  }

  #find({ query, range, key, question }: ReadTask): Entry | null {
    const exact = this.#get(key, query)
    if (exact !== null || range.after === null) return exact
    for (const other of [this.#state.latest.get(question), question]) {
      const entry = other === undefined ? null : this.#get(other, query)
      if (entry?.run.reaches(range)) return entry
    }
    return null
  }

  #get(key: string, query: ListingQuery): Entry | null {
    const entry = this.#options.runs.get(this.#group, key)
    return entry === null ? null : this.#restore(entry, query)
  }

  async #findShared({ query, key, question }: ReadTask): Promise<Entry | null> {
    const { sharedRuns } = this.#options
    const entry = sharedRuns === null ? null : await sharedRuns.get(this.#group, key)
    const value = entry === null ? null : StoredRun.decode(entry.value)
    if (entry === null || value === null) return null
    const stored = { value, lifetime: entry.lifetime }
    const restored = this.#restore(stored, query)
    if (restored !== null) this.#storeLocally(key, question, stored)
    return restored
  }

  #restore({ value, lifetime }: CacheEntry<StoredRun>, query: ListingQuery): Entry | null {
    try {
      return { run: value.run(this.#options.upstream, query), lifetime }
    } catch (error) {
      if (error instanceof SourceError) return null // not written by us
      throw error
    }
  }

  #readOnce(task: ReadTask): Promise<Entry> {
    const { query, range, key } = task
    const name = `${this.#state.generation.value} ${query.caching ?? ''} ${range.count} ${key}`
    const joined = this.#inFlight.get(name)
    if (joined !== undefined) return joined
    const reading = this.#readInTime(task).finally(() => this.#inFlight.delete(name))
    this.#inFlight.set(name, reading)
    return reading
  }

  #readInTime(task: ReadTask): Promise<Entry> {
    const { upstream, maxReadMs, clock, sharedRuns } = this.#options
    const isShared = sharedRuns !== null && task.query.caching === undefined
    const deadline = new AbortController()
    const cancel = clock.after(maxReadMs, () =>
      deadline.abort(new SourceError('timeout', `${upstream.name}: not read within ${maxReadMs} ms`)),
    )
    const { signal } = deadline
    const reading = isShared ? this.#readInTurn(task, sharedRuns, signal) : this.#readAndStore(task, signal)
    return raceAbort(reading, signal).finally(cancel)
  }

  /** Waits at most `timeoutMs` for a replica that reads the same. */
  async #readInTurn(task: ReadTask, shared: RedisCache, signal: AbortSignal): Promise<Entry> {
    const { clock, upstream, maxReadMs } = this.#options
    const { range, key } = task
    const tryLock = () => shared.tryLock(this.#group, key, maxReadMs)
    const deadline = { isOver: false }
    const cancel = clock.after(upstream.timeoutMs, () => {
      deadline.isOver = true
    })
    const isFound = (entry: Entry | null): entry is Entry =>
      entry !== null && phaseAt(entry.lifetime, clock.now()) === 'fresh' && entry.run.covers(range)
    // In this order and one round trip: the new holder finds the run that was stored before the release.
    let [release, found] = await Promise.all([tryLock(), this.#findShared(task)])
    while (release === null && !deadline.isOver && !isFound(found)) {
      await new Promise<void>((resolve) => clock.after(LOCK_POLL_MS, resolve))
      release = await tryLock()
      found = await this.#findShared(task)
    }
    cancel()
    try {
      return isFound(found) ? found : await this.#readAndStore(task, signal)
    } finally {
      release?.()
    }
  }

  async #readAndStore({ query, range, key, question, base }: ReadTask, signal: AbortSignal): Promise<Entry> {
    const { read, policy, clock, random, sharedRuns } = this.#options
    const generation = this.#state.generation.value
    const run = await read(query, range, signal, base?.fork(range)).catch((error: unknown) => {
      if (base === undefined || !(error instanceof SourceError) || !NO_JOINT.has(error.reason)) throw error
      return read(query, range, signal)
    })
    const now = clock.now()
    const directives = run.directives
    // An incomplete answer is served once: it must not displace a complete one.
    const isStored = run.missing === undefined
    const lifetime = isStored ? lifetimeOf(policy, directives, { now: run.asOf, random: random() }) : null
    if (lifetime === null || lifetime.deleteAt <= now) return { run, lifetime: servedOnce(run, now) }
    const entry = { run, lifetime }
    if (generation !== this.#state.generation.value) return entry
    const stored = { value: StoredRun.of(run), lifetime }
    // A run from the top serves every range.
    const storedKey = run.after === null ? question : key
    this.#storeLocally(storedKey, question, stored)
    if (sharedRuns !== null)
      await sharedRuns.set(this.#group, storedKey, { value: stored.value.encode(), lifetime })
    return entry
  }

  #storeLocally(key: string, question: string, entry: CacheEntry<StoredRun>): void {
    this.#options.runs.set(this.#group, key, entry)
    this.#state.latest.delete(question)
    this.#state.latest.set(question, key)
    if (this.#state.latest.size > MAX_LATEST)
      this.#state.latest.delete(this.#state.latest.keys().next().value!)
  }

  #serve(entry: Entry, outcome: CacheDecision['outcome'], reason?: SourceReason): ServedRun {
    const { clock, onServe } = this.#options
    this.#state.counts[outcome]++
    onServe(outcome !== 'miss')
    const { run, lifetime } = entry
    return {
      run,
      stale: outcome === 'stale',
      reason,
      cache: { outcome, ttlSeconds: Math.round((lifetime.staleAt - clock.now()) / 1000) },
      isCurrent: currency(lifetime, this.#state.generation, clock),
    }
  }
}

type Entry = { run: Run; lifetime: Lifetime }
type ReadTask = { query: ListingQuery; range: Range; key: string; question: string; base?: Run | undefined }

const NO_JOINT: ReadonlySet<SourceReason> = new Set(['unstable', 'unsorted', 'bad_envelope', 'http_400'])

const MAX_LATEST = 1000

/** Outside of the class: a closure in a method would keep its variables alive. */
function currency(
  { fetchedAt, staleAt }: Lifetime,
  generation: { readonly value: number },
  clock: Clock,
): (now?: number) => boolean {
  const { value } = generation
  return (now = clock.now()) => generation.value === value && fetchedAt <= now && now < staleAt
}

/** Listings that one credential is shown must not be served to another, or after their address was forbidden. */
export function cacheGroup({ url, kind, key, allowPrivateAddresses }: Identity): string {
  return hash('sha256', JSON.stringify([url, kind, key ?? '', allowPrivateAddresses]), 'base64url')
}

type Identity = Pick<UpstreamOptions, 'url' | 'kind' | 'key' | 'allowPrivateAddresses'>

/** Filters that are evaluated here do not count. The order of filters matters only within one name. */
function questionKey({ filters, criteria, ...query }: ListingQuery): string {
  const { status, publisher, ifMatch, via, listingId } = query
  const sorted = filters.length < 2 ? filters : filters.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  const names = new Set(filters.map(([parameter]) => filterNameOf(parameter)))
  let meaning = ''
  for (const { filter, onMissing } of criteria)
    if (names.has(filter.name))
      meaning += `${filter.name}\t${filter.path}\t${filter.op}\t${filter.value_type}\t${filter.alias_kind}\t${onMissing}\n`
  const others = [status, publisher, ifMatch ?? null, via ?? null, listingId ?? null]
  return `${JSON.stringify(others)}${JSON.stringify(sorted)}${meaning}`
}

/** A refusal is an answer: listings that the upstream no longer shows us are not served. */
function isStaleIfError(error: unknown): error is SourceError {
  return error instanceof SourceError && !isRefusal(error.reason) && !isAboutQuestion(error.reason)
}

function servedOnce({ asOf, directives }: Run, now: number): Lifetime {
  const fetchedAt = asOf - directives.ageSeconds * 1000
  return { fetchedAt, staleAt: now, revalidateUntil: now, deleteAt: now }
}
