import { failureOf } from '../../domain/source/failure.ts'
import type { Item } from '../../domain/source/item.ts'
import { describeAllMissing } from '../../domain/source/missing-source.ts'
import type { SourceReason } from '../../domain/source/reasons.ts'
import type { SavedSnapshot, SharedPull, Totals } from '../../domain/source/saved-snapshot.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { SourceLog } from '../../domain/source/source-status.ts'
import type { Copy } from '../../listing-index/copy.ts'
import { type FeedChange, isRemoved, isUnchecked } from '../feed/feed-change.ts'
import type { PageItem } from '../page/listing-page.ts'
import { type FirstPage, totalsOf } from './first-page.ts'
import { isHeldInPart, missingAfter, retainUnreachable, withLastContact } from './gateway-gaps.ts'
import type { Pull } from './pull.ts'
import { type Bounds, newestOf, Snapshot, snapshotKey } from './snapshot.ts'
import { type HeldSnapshot, isHiding, type PullContext, type SnapshotState } from './snapshot-state.ts'

/** Why a first pull takes back what has arrived of it. */
export const WRONG: readonly SourceReason[] = ['bad_envelope', 'bad_signature', 'not_json', 'unstable']

/** Changes what is held of an upstream by what was pulled. After `close` nothing changes: a later runtime continues. */
export class HeldListings {
  readonly #options: PullContext
  readonly #state: SnapshotState
  #isClosed = false
  /** Ids of which the latest pull had other listings than the stream of changes. */
  differences: readonly string[] = []
  /** Keys that were removed during the running pull, which may have read them before. */
  #removed: string[] = []

  constructor(options: PullContext) {
    this.#options = options
    this.#state = options.state
  }

  close(): void {
    this.#isClosed = true
  }

  /** A pull begins. */
  begin(): void {
    this.#removed = []
  }

  async restore({ listings, ...about }: SavedSnapshot): Promise<void> {
    const { newest, partOf } = newestOf(listings, this.bounds)
    const empty = this.#empty()
    const { next: snapshot, make } = await empty.changeTo(newest)
    // Meanwhile an earlier runtime may have pulled a newer one.
    if (this.#state.current !== null) return empty.drop()
    make()
    this.#set({ partOf, ...about, snapshot, invalid: 0, totals: null }, null, true)
  }

  /** What may be held. */
  get bounds(): Bounds {
    const { upstream, maxBytes } = this.#options
    return { maxListings: upstream.maxListings ?? Number.POSITIVE_INFINITY, maxBytes: maxBytes() }
  }

  /** What has arrived of a first pull. */
  load(items: readonly PageItem[], { askedAt: takenAt, page }: FirstPage): void {
    const { current, failure } = this.#state
    if (this.#isClosed || (current !== null && !current.isLoading)) return
    const snapshot = current?.snapshot ?? this.#empty()
    snapshot.load(items.map((item) => item.toItem()))
    const { missing, about } = page ?? {}
    const next = {
      ...(current ?? { takenAt, gatewayId: about?.gatewayId, missing, invalid: 0 }),
      ...{ snapshot, totals: null, isLoading: true, partOf: Math.max(page?.total ?? 0, snapshot.size) },
    }
    this.#set(next, failure)
  }

  /** All listings, or the newest within the bounds. @returns whether any has changed */
  async replace(pulled: Pull, first: FirstPage): Promise<boolean> {
    const { current } = this.#state
    const { invalid, missing, ageSeconds, gatewayId, partOf } = pulled
    const listings = retainUnreachable(current?.snapshot ?? [], pulled)
    const { askedAt: takenAt, page } = first
    return this.#replace(listings, {
      takenAt,
      ageSeconds,
      invalid,
      gatewayId,
      partOf,
      missing: missing?.map((entry) => withLastContact(entry, current)),
      feedPosition: page?.about.changesPosition,
      totals: totalsOf(first, partOf ?? listings.size),
    })
  }

  /**
   * All listings of a pull of another replica; `null` where they are in memory already. A failure of this replica stays.
   * @returns whether any has changed
   */
  async take(
    { id: _id, hash: _hash, tookMs: _tookMs, ...about }: SharedPull,
    listings: ReadonlyMap<string, Item> | null,
  ): Promise<boolean> {
    const { current, failure } = this.#state
    return this.#replace(listings ?? new Map(current?.snapshot), about, failure, true)
  }

  /**
   * Adds new items of a first page. The whole was not read, so its age stays. `totals`: `null` where they do not explain
   * everything.
   */
  add(items: readonly PageItem[], totals: Totals | null): void {
    const current = this.#state.current
    if (current === null || this.#isClosed) return
    const invalid = current.invalid + current.snapshot.put(items.map((item) => item.toItem()))
    const partOf = this.#pushOut(current)
    this.#set({ ...current, invalid, partOf, totals: totals ?? current.totals }, null)
  }

  /** Applies changes of the upstream's stream, up to that position. @returns ids that they name */
  apply(changes: readonly FeedChange[], position: string | null): readonly string[] {
    const { current, failure } = this.#state
    if (current === null || this.#isClosed) return []
    const listingIds = [...new Set(changes.flatMap((change) => listingIdOf(change) ?? []))]
    const { snapshot } = current
    const { size, version } = snapshot
    const left = changes.reduce((count, change) => count + applyTo(current, change), 0)
    if (position !== null) current.feedPosition = position
    const missing = changes.reduce((before, change) => missingAfter(before, change, current), current.missing)
    if (snapshot.version === version && missing === current.missing) return listingIds
    const { totals } = current
    const total = (totals?.total ?? 0) + snapshot.size - size
    const invalid = current.invalid + left
    const partOf = this.#pushOut(current)
    const next = {
      ...current,
      invalid,
      partOf,
      missing,
      totals: totals && { ...totals, total, counts: null },
    }
    this.#set(next, failure)
    return listingIds
  }

  /** A listing that its upstream does not have any more. */
  remove(keys: readonly string[]): void {
    const { current, failure } = this.#state
    if (current === null) return
    this.#removed.push(...keys)
    current.snapshot.remove(keys)
    this.#set({ ...current }, failure)
  }

  fail(err: unknown): void {
    const { clock, log, upstream } = this.#options
    const { name } = upstream
    const isKnown = err instanceof SourceError
    const reason = isKnown ? err.reason : 'connection_reset'
    const { current, failure } = this.#state
    const message = isKnown ? err.message : `${name}: the pull failed`
    const latest = new SourceError(reason, message, {
      cause: err,
      missing: isKnown ? err.missing : undefined,
    })
    const lastError = failureOf(latest, upstream, clock.now())
    if (failure?.reason !== reason) {
      const about = { upstream: name, reason, detail: lastError.detail }
      // Another error is a fault of ours, with its stack.
      log.warn(isKnown ? about : { ...about, err }, 'snapshot pull failed')
    }
    // A refusal hides what is held until the upstream answers again.
    // Pages that do not fit together may be of another Registry.
    const isTakenBack = current?.isLoading === true && WRONG.includes(reason)
    if (isTakenBack) current.snapshot.dropLater(clock)
    const isHidden = failure !== null && isHiding(failure) && !isHiding(latest)
    this.#set(isTakenBack ? null : current, isHidden ? failure : latest)
    this.#state.lastError = lastError
  }

  /** Removes the oldest listings beyond the bounds. @returns how many listings the upstream has, where others are not held */
  #pushOut(current: HeldSnapshot): number | undefined {
    const { snapshot, partOf } = current
    const { size } = snapshot
    const pushedOut = snapshot.beyond(this.bounds)
    if (pushedOut.length === 0) return partOf
    // What goes is not gone at the upstream: it is held in part by then.
    current.partOf = partOf === undefined ? size : partOf + pushedOut.length
    snapshot.remove(pushedOut.map(({ key }) => key))
    return current.partOf
  }

  async #replace(
    listings: ReadonlyMap<string, Item>,
    about: Omit<HeldSnapshot, 'snapshot'>,
    failure: SourceError | null = null,
    isContinued = false,
  ): Promise<boolean> {
    const { upstream, log, clock } = this.#options
    const { current } = this.#state
    const before = current?.snapshot ?? this.#empty()
    const { newest, partOf: all } = newestOf(listings, this.bounds)
    const { partOf = all } = about
    const { listingIds, next: snapshot, make } = await before.changeTo(newest)
    // What a later runtime holds is not replaced.
    if (this.#isClosed) {
      if (snapshot !== current?.snapshot) await snapshot.drop()
      return false
    }
    const copies = this.#state.isFollowed ? new Map(listingIds.map((id) => [id, before.find(id)])) : null
    // What goes was pushed out only where the source is held in part by then.
    const partBefore = current?.partOf
    if (current !== null && current.isLoading !== true) current.partOf = partOf
    make()
    snapshot.remove(this.#removed)
    if (current !== null) current.partOf = partBefore
    this.differences = copies === null ? [] : differencesOf(copies, snapshot, about.missing)
    if (failure === null || this.#state.current === null)
      logPull(log, upstream.name, this.#state, { ...about, partOf, listings: snapshot.size })
    this.#set({ ...about, partOf, snapshot }, failure, isContinued)
    if (snapshot !== before) before.dropLater(clock)
    return listingIds.length > 0
  }

  #empty(): Snapshot {
    const { index, upstream } = this.#options
    return new Snapshot(index, upstream.name)
  }

  #set(current: HeldSnapshot | null, failure: SourceError | null, isContinued = false): void {
    this.#state.set({ current, failure }, isContinued)
    this.#options.onResize(current?.snapshot.retainedBytes ?? 0)
  }
}

/** What changes with a pull that has succeeded, before the state does. */
function logPull(
  log: SourceLog,
  upstream: string,
  { current, failure }: Pick<SnapshotState, 'current' | 'failure'>,
  { missing, listings, partOf }: Pick<Pull, 'missing' | 'partOf'> & { listings: number },
): void {
  const before = current?.isLoading === true ? null : current
  if (before === null) log.info({ upstream, listings }, 'upstream is held in memory')
  else if (failure !== null) log.info({ upstream, listings }, 'snapshot pulled again')
  if (partOf !== undefined && before?.partOf === undefined)
    log.warn({ upstream, reason: 'too_large', listings, of: partOf }, 'upstream is held in part')
  if (partOf === undefined && before?.partOf !== undefined)
    log.info({ upstream, listings }, 'upstream is held whole again')
  const wasComplete = before?.missing === undefined
  if (missing !== undefined && wasComplete)
    log.warn({ upstream, missing: describeAllMissing(missing) }, 'upstream gateway answered incomplete')
  if (missing === undefined && !wasComplete) log.info({ upstream }, 'upstream gateway answers complete again')
}

const listingIdOf = (change: FeedChange): string | null =>
  change.kind === 'source' ? null : change.kind === 'listing' ? change.item.listingId : change.listingId

/**
 * A copy of a source that the gateway cannot ask stays, as after a pull: not one that it holds in part, of which it says what it
 * knows. @returns the number of listings without room
 */
function applyTo({ snapshot, missing }: HeldSnapshot, change: FeedChange): number {
  if (change.kind === 'source') return 0
  if (change.kind === 'removed') {
    const copies = snapshot.find(change.listingId).filter((copy) => isRemoved(copy, change))
    snapshot.remove(copies.map(({ key }) => key))
    return 0
  }
  const item = change.item.toItem()
  const key = snapshotKey(item)
  const held = snapshot.get(key)
  const isKept = held !== undefined && isUnchecked(held, item.origin?.unchecked)
  if (isKept && !isHeldInPart(held, missing)) return 0
  if (change.item.isMatch) return snapshot.has(key, item) ? 0 : snapshot.put([item])
  snapshot.remove([key])
  return 0
}

/** Ids whose listings have changed, and not only what a gateway says about them, or what newer ones have pushed out at it. */
function differencesOf(
  before: ReadonlyMap<string, readonly Copy[]>,
  snapshot: Snapshot,
  missing: HeldSnapshot['missing'] = [],
): readonly string[] {
  const contentOf = (copies: readonly Copy[]): string =>
    copies
      .filter((copy) => !isHeldInPart(copy, missing))
      .map(
        (copy) =>
          `${copy.key} ${copy.position} ${copy.publisher} ${Buffer.from(copy.bytes).toString('latin1')}`,
      )
      .sort()
      .join('\n')
  return [...before].flatMap(([id, copies]) => (contentOf(copies) === contentOf(snapshot.find(id)) ? [] : id))
}
