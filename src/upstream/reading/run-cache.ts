import { hash } from 'node:crypto'
import type { LruCache } from '../../cache/lru.ts'
import { type Clock, raceAbort } from '../../domain/clock.ts'
import {
  type CacheDecision,
  type CachePolicy,
  type Lifetime,
  lifetimeOf,
  phaseAt,
} from '../../domain/source/freshness.ts'
import type { Range, ReadingInfo } from '../../domain/source/reading.ts'
import { type SourceReason, traitsOf } from '../../domain/source/reasons.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'
import { filterNameOf } from '../../filter-spec/parameters.ts'
import type { UpstreamQuery } from '../upstream-query.ts'
import type { Run } from './run.ts'

export type ReadRun = (query: UpstreamQuery, range: Range, signal: AbortSignal) => Promise<Run>

export type ServedRun = Pick<ReadingInfo, 'stale' | 'reason' | 'cache' | 'isCurrent'> & { run: Run }

export type RunCacheOptions = {
  upstream: Identity & Pick<UpstreamOptions, 'name'>
  read: ReadRun
  runs: LruCache<Run>
  state: RunCacheState
  policy: CachePolicy
  /** `isHit`: without a request that the reader waited for. */
  onServe: (isHit: boolean) => void
  /** Even if no reader waits any more. */
  maxReadMs: number
  clock: Clock
  random: () => number
}

/** What the cache of the next runtime continues with, beside the runs. */
export class RunCacheState {
  readonly counts: Record<CacheDecision['outcome'], number> = { hit: 0, revalidating: 0, stale: 0, miss: 0 }
  /** Raised by `drop`: older reads are not stored. */
  readonly generation = { value: 0 }
  /** Why a run could not be read again in the background. */
  readonly failures = new WeakMap<Run, SourceReason>()
}

/**
 * Serves runs while fresh, then stale while revalidating, then only if reading fails. After a failed revalidation a run is
 * served with its reason.
 * Single flight with its own deadline: a caller that hangs up does not fail the others.
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
    this.#options.runs.drop(this.#group)
  }

  async read(query: UpstreamQuery, range: Range, signal: AbortSignal): Promise<ServedRun> {
    const { clock } = this.#options
    const question = questionKey(query)
    const { after } = range
    // A run from the top has the key of its question, and serves every range that it covers.
    const key = after === null ? question : `${question}@${after.position}@${after.listingId}`
    const task: ReadTask = { query, range, question, key }
    const stored = this.#find([key, question], range)
    const phase = stored === null ? 'expired' : phaseAt(stored.lifetime, clock.monotonic())
    const isUsable = stored !== null && phase !== 'expired'
    if (isUsable && phase === 'fresh' && query.caching !== 'no-cache') return this.#serve(stored, 'hit')
    if (isUsable && phase === 'revalidate' && query.caching === undefined) {
      this.#revalidate(task, stored)
      const failure = this.#state.failures.get(stored.run)
      return this.#serve(stored, failure === undefined ? 'revalidating' : 'stale', failure)
    }
    if (query.caching === 'only-if-cached') {
      if (isUsable) return this.#serve(stored, phase === 'if_error' ? 'stale' : 'revalidating')
      // RFC 9111 section 5.2.1.7: answered with 504 (Gateway Timeout).
      throw new SourceError('timeout', `${this.#options.upstream.name}: nothing is cached`)
    }
    try {
      if (query.outage) throw query.outage
      const reading = this.#readOnce(task)
      // Without a stored run, the caller waits for its own deadline.
      return this.#serve(isUsable ? await raceAbort(reading, signal) : await reading, 'miss')
    } catch (error) {
      const isStillUsable = isUsable && phaseAt(stored.lifetime, clock.monotonic()) !== 'expired'
      if (!isStillUsable || !isStaleIfError(error)) throw error
      return this.#serve(stored, 'stale', error.reason)
    }
  }

  /** The run from the top of that question, where it is fresh and fits. Sends no request. */
  fresh(query: UpstreamQuery, fits: (run: Run) => boolean): ServedRun | null {
    if (query.caching === 'no-cache') return null
    const stored = this.#get(questionKey(query))
    if (stored === null || phaseAt(stored.lifetime, this.#options.clock.monotonic()) !== 'fresh') return null
    return fits(stored.run) ? this.#serve(stored, 'hit') : null
  }

  #find(keys: readonly string[], range: Range): Entry | null {
    for (const key of keys) {
      const entry = this.#get(key)
      if (entry?.run.covers(range)) return entry
    }
    return null
  }

  #get(key: string): Entry | null {
    const entry = this.#options.runs.get(this.#group, key)
    return entry && { run: entry.value, lifetime: entry.lifetime }
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

  /** In the background: readers that wait for the run get the failure, later ones see that this one is a copy. */
  #revalidate(task: ReadTask, { run }: Entry): void {
    this.#readOnce(task).catch((error: unknown) => {
      if (isStaleIfError(error)) this.#state.failures.set(run, error.reason)
    })
  }

  #readInTime(task: ReadTask): Promise<Entry> {
    const { upstream, maxReadMs, clock } = this.#options
    const deadline = new AbortController()
    const cancel = clock.after(maxReadMs, () =>
      deadline.abort(new SourceError('timeout', `${upstream.name}: not read within ${maxReadMs} ms`)),
    )
    return raceAbort(this.#readAndStore(task, deadline.signal), deadline.signal).finally(cancel)
  }

  async #readAndStore({ query, range, key, question }: ReadTask, signal: AbortSignal): Promise<Entry> {
    const { read, policy, clock, random } = this.#options
    const generation = this.#state.generation.value
    const run = await read(query, range, signal)
    const now = clock.monotonic()
    const directives = run.directives
    // An incomplete answer is served once: it must not displace a complete one.
    const isStored = run.missing === undefined
    const lifetime = isStored ? lifetimeOf(policy, directives, { now: run.asOf, random: random() }) : null
    if (lifetime === null || lifetime.deleteAt <= now) return { run, lifetime: servedOnce(now) }
    const entry = { run, lifetime }
    if (generation !== this.#state.generation.value) return entry
    this.#options.runs.set(this.#group, run.after === null ? question : key, { value: run, lifetime })
    return entry
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
      cache: { outcome, ttlSeconds: Math.round((lifetime.staleAt - clock.monotonic()) / 1000) },
      isCurrent: validityOf(lifetime, this.#state.generation, clock),
    }
  }
}

type Entry = { run: Run; lifetime: Lifetime }
type ReadTask = { query: UpstreamQuery; range: Range; key: string; question: string }

/** Outside of the class: a closure in a method would keep its variables alive. */
function validityOf(
  { staleAt }: Lifetime,
  generation: { readonly value: number },
  clock: Clock,
): (now?: number) => boolean {
  const { value } = generation
  return (now = clock.monotonic()) => generation.value === value && now < staleAt
}

/** Listings that one credential is shown, or one key has signed, must not be served to another, or after their address was forbidden. */
export function cacheGroup({ url, kind, key, pin, allowPrivateAddresses }: Identity): string {
  const identity = [url, kind, key ?? '', allowPrivateAddresses, ...(pin === null ? [] : [pin])]
  return hash('sha256', JSON.stringify(identity), 'base64url')
}

type Identity = Pick<UpstreamOptions, 'url' | 'kind' | 'key' | 'pin' | 'allowPrivateAddresses'>

/** Filters that are evaluated here do not count. The order of filters matters only within one name. */
function questionKey({ pushed, criteria, ...query }: UpstreamQuery): string {
  const { status, publisher, ifMatch, via, listingId } = query
  const sorted = pushed.length < 2 ? pushed : pushed.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  const names = new Set(pushed.map(([parameter]) => filterNameOf(parameter)))
  let meaning = ''
  for (const { filter, onMissing } of criteria)
    if (names.has(filter.name))
      meaning += `${filter.name}\t${filter.path}\t${filter.op}\t${filter.value_type}\t${filter.alias_kind}\t${onMissing}\n`
  const parts = [status, publisher, ifMatch ?? null, via ?? null, listingId ?? null]
  return `${JSON.stringify(parts)}${JSON.stringify(sorted)}${meaning}`
}

/** A refusal is an answer: listings that the upstream no longer shows us are not served. */
function isStaleIfError(error: unknown): error is SourceError {
  if (!(error instanceof SourceError)) return false
  const { fault } = traitsOf(error.reason)
  return fault === 'upstream' || fault === 'client'
}

function servedOnce(now: number): Lifetime {
  return { staleAt: now, revalidateUntil: now, deleteAt: now }
}
