import type { Clock } from '../../domain/clock.ts'
import { failureOf } from '../../domain/source/failure.ts'
import type { HeldCopy } from '../../domain/source/held.ts'
import { coversRegistry } from '../../domain/source/missing-source.ts'
import type { Item } from '../../domain/source/reading.ts'
import type { SourceReason } from '../../domain/source/reasons.ts'
import type { SavedSnapshot, SharedPull, SharedPullId, Totals } from '../../domain/source/saved-snapshot.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { SourceLog } from '../../domain/source/source-status.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'
import type { Filter } from '../../filter-spec/filter.ts'
import { type FeedChange, isRemoved, isUnchecked } from '../feed/feed-change.ts'
import type { PageItem } from '../page/listing-page.ts'
import { type FirstPage, totalsOf } from './first-page.ts'
import { retainUnreachable, withLastContact } from './gateway-gaps.ts'
import { logPull } from './log-pull.ts'
import { newestOf, olderThanAll, partOfAll } from './newest.ts'
import type { PullHistory } from './next-pull.ts'
import type { Pull } from './pull.ts'
import { Snapshot, snapshotKey } from './snapshot.ts'
import { type ChangedCopies, type HeldSnapshot, isHiding, type SnapshotState } from './snapshot-state.ts'

export type HeldListingsOptions = {
  upstream: Pick<UpstreamOptions, 'name' | 'key' | 'maxListings'>
  /** Their paths are indexed. */
  filters: () => readonly Filter[]
  /** Memory that the snapshot may take: further listings are not held, the oldest first. */
  maxBytes: () => number
  /** Called with the memory of the snapshot. */
  onResize: (bytes: number) => void
  state: SnapshotState
  clock: Clock
  log: SourceLog
}

/** Why a first pull takes back what has arrived of it. */
export const WRONG: readonly SourceReason[] = ['bad_envelope', 'bad_signature', 'not_json', 'unstable']

/** Changes what is held of an upstream by what was pulled. After `close` nothing changes: a later runtime continues. */
export class HeldListings {
  readonly #options: HeldListingsOptions
  readonly #state: SnapshotState
  #isClosed = false
  /** Ids of which the latest pull had other listings than the stream of changes. */
  differences: readonly string[] = []
  /** Keys that were removed during the running pull, which may have read them before. */
  #removed: string[] = []

  constructor(options: HeldListingsOptions) {
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

  note(news: Partial<PullHistory>): void {
    if (!this.#isClosed) this.#state.history = { ...this.#state.history, ...news }
  }

  async restore({ listings, ...about }: SavedSnapshot): Promise<void> {
    const { upstream, filters } = this.#options
    const newest = newestOf(listings, this.bounds)
    const change = await new Snapshot(upstream.name, filters()).changeTo(newest, filters())
    // Meanwhile an earlier runtime may have pulled a newer one.
    if (this.#state.current !== null) return
    const snapshot = change.make()
    const partOf = about.partOf ?? partOfAll(newest, listings.size)
    this.#hold({ ...about, partOf, snapshot, invalid: 0, totals: null }, { isContinued: true })
  }

  /** What may be held. */
  get bounds(): { maxListings: number; maxBytes: number } {
    const { upstream, maxBytes } = this.#options
    return { maxListings: upstream.maxListings ?? Number.POSITIVE_INFINITY, maxBytes: maxBytes() }
  }

  /** What has arrived of a first pull. */
  load(items: readonly PageItem[], { askedAt: takenAt, page }: FirstPage): void {
    const { current, failure } = this.#state
    if (this.#isClosed || (current !== null && !current.isLoading)) return
    const { upstream, filters } = this.#options
    const snapshot = current?.snapshot ?? new Snapshot(upstream.name, filters())
    const listingIds = [...new Set(items.map(({ listingId }) => listingId))]
    const before = snapshot.capture(listingIds)
    snapshot.put(items.map((item) => item.toItem()))
    const { missing, about } = page ?? {}
    const next = {
      ...(current ?? { takenAt, gatewayId: about?.gatewayId, missing, invalid: 0 }),
      ...{ snapshot, totals: null, isLoading: true, partOf: Math.max(page?.total ?? 0, snapshot.size) },
    }
    this.#state.set({ current: next, failure }, { listingIds, before })
    this.#options.onResize(snapshot.retainedBytes)
  }

  /** All listings, or the newest within the bounds. @returns whether any has changed */
  async replace(pulled: Pull, first: FirstPage): Promise<boolean> {
    const { current } = this.#state
    const { invalid, missing, ageSeconds, gatewayId, partOf, publishersLater } = pulled
    const listings = retainUnreachable(current?.snapshot ?? [], pulled)
    const { askedAt: takenAt, page } = first
    const hasChanged = await this.#replace(listings, {
      takenAt,
      ageSeconds,
      invalid,
      gatewayId,
      partOf,
      missing: missing?.map((entry) => withLastContact(entry, current)),
      feedPosition: page?.about.changesPosition,
      totals: totalsOf(first, partOf ?? listings.size),
    })
    void publishersLater?.then((publishers) => this.#setPublishers(takenAt, publishers))
    return hasChanged
  }

  /**
   * All listings of a pull of another replica; `null` where they are in memory already. A failure of this replica stays.
   * @returns whether any has changed
   */
  async take(
    { id, hash, tookMs: _, ...about }: SharedPull,
    listings: ReadonlyMap<string, Item> | null,
  ): Promise<boolean> {
    const { current, failure } = this.#state
    const hasChanged = await this.#replace(listings ?? new Map(current?.snapshot), about, {
      failure,
      isContinued: true,
    })
    const { snapshot } = this.#state.current ?? {}
    if (snapshot !== undefined) this.share({ id, hash }, snapshot, snapshot.version)
    return hasChanged
  }

  /** `snapshot` has the listings of that pull in that version. */
  share(pull: SharedPullId, snapshot: Snapshot, version: number): void {
    const { current } = this.#state
    if (current?.snapshot === snapshot) current.shared = { ...pull, version }
  }

  /**
   * Adds new items of a first page. The whole was not read, so its age stays. `totals`: `null` where they do not explain
   * everything.
   */
  add(items: readonly PageItem[], totals: Totals | null): void {
    const current = this.#state.current
    if (current === null || this.#isClosed) return
    const listingIds = [...new Set(items.map(({ listingId }) => listingId))]
    const before = current.snapshot.capture(listingIds)
    const invalid = current.invalid + current.snapshot.put(items.map((item) => item.toItem()))
    const { partOf, copies } = this.#pushOut(current, { listingIds, before })
    this.#hold({ ...current, invalid, totals: totals ?? current.totals, partOf }, { copies })
  }

  /** Applies changes of the upstream's stream, up to that position. @returns ids that they name */
  apply(changes: readonly FeedChange[], position: string | null): readonly string[] {
    const { current, failure } = this.#state
    if (current === null || this.#isClosed) return []
    const listingIds = [...new Set(changes.flatMap((change) => listingIdOf(change) ?? []))]
    const { snapshot } = current
    const before = snapshot.capture(listingIds)
    const { size, version } = snapshot
    const left = changes.reduce((count, change) => count + applyTo(snapshot, change), 0)
    if (position !== null) current.feedPosition = position
    if (snapshot.version === version) return listingIds
    const { totals } = current
    const total = (totals?.total ?? 0) + snapshot.size - size
    const { partOf, copies } = this.#pushOut(current, { listingIds, before })
    const invalid = current.invalid + left
    const next = { ...current, invalid, partOf, totals: totals && { ...totals, total, counts: null } }
    this.#state.set({ current: next, failure }, copies)
    this.#options.onResize(snapshot.retainedBytes)
    return listingIds
  }

  /** A listing that its upstream does not have any more. */
  remove(keys: readonly string[], listingId: string): void {
    const { current, failure } = this.#state
    if (current === null) return
    this.#removed.push(...keys)
    const before = current.snapshot.capture([listingId])
    current.snapshot.remove(keys)
    this.#state.set({ current: { ...current }, failure }, { listingIds: [listingId], before })
    this.#options.onResize(current.snapshot.retainedBytes)
  }

  /** Whether what is held, if anything, is indexed by all filters. */
  get isIndexed(): boolean {
    return this.#state.current?.snapshot.indexes(this.#options.filters()) ?? true
  }

  /** Indexes what is held by filters that became known since, or that have another meaning now. */
  async indexAgain(): Promise<void> {
    const { current } = this.#state
    if (current === null || this.isIndexed) return
    await this.#build(current, new Map(current.snapshot))
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
    if (isTakenBack) this.#options.onResize(0)
    this.#state.set({
      current: isTakenBack ? null : current,
      failure: failure !== null && isHiding(failure) && !isHiding(latest) ? failure : latest,
    })
    this.#state.lastError = lastError
    this.note({ hasFailed: true })
  }

  /** Removes the oldest listings beyond the bounds. @returns the change with theirs, and how many listings the upstream has */
  #pushOut(
    { snapshot, partOf }: HeldSnapshot,
    { listingIds, before }: ChangedCopies,
  ): { partOf: number | undefined; copies: ChangedCopies } {
    const { size } = snapshot
    const pushedOut = snapshot.beyond(this.bounds)
    if (pushedOut.length === 0) return { partOf, copies: { listingIds, before } }
    const keys = new Set(pushedOut.map(({ key }) => key))
    const ids = new Set(pushedOut.map(({ item }) => item.listingId)).difference(new Set(listingIds))
    const others = snapshot.capture([...ids])
    snapshot.remove(keys)
    const copies: ChangedCopies = {
      listingIds: [...listingIds, ...ids],
      before: (listingId) => (ids.has(listingId) ? others : before)(listingId),
      isPushedOut: ({ key }) => keys.has(key),
    }
    return { partOf: partOf === undefined ? size : partOf + pushedOut.length, copies }
  }

  async #replace(
    listings: ReadonlyMap<string, Item>,
    about: Omit<HeldSnapshot, 'snapshot'>,
    { failure = null, isContinued = false }: Omit<HoldOptions, 'copies'> = {},
  ): Promise<boolean> {
    const { filters, upstream, log } = this.#options
    const vocabulary = filters()
    const before = this.#state.current?.snapshot ?? new Snapshot(upstream.name, vocabulary)
    const newest = newestOf(listings, this.bounds)
    const partOf = about.partOf ?? partOfAll(newest, listings.size)
    const change = await before.changeTo(newest, vocabulary)
    // What a later runtime holds is not replaced.
    if (this.#isClosed) return false
    const snapshot = change.make()
    snapshot.remove(this.#removed)
    this.differences = this.#state.isFollowed ? differencesOf(change, snapshot, about.missing) : []
    if (failure === null || this.#state.current === null)
      logPull(log, upstream.name, this.#state, { ...about, partOf, listings: snapshot.size })
    const isPushedOut = partOf === undefined ? undefined : olderThanAll(newest)
    const copies = { ...change, isPushedOut }
    this.#hold({ ...about, partOf, snapshot }, { copies, failure, isContinued })
    return change.listingIds.length > 0
  }

  #hold(current: HeldSnapshot | null, { copies, failure = null, isContinued }: HoldOptions = {}): void {
    this.#state.set({ current, failure }, copies, isContinued)
    this.note({ isHeld: current !== null, hasFailed: failure !== null })
    this.#options.onResize(current?.snapshot.retainedBytes ?? 0)
  }

  /** Of the pull that began then, while no later one has ended. */
  async #setPublishers(takenAt: number, publishers: ReadonlyMap<string, string>): Promise<void> {
    const { current } = this.#state
    if (current?.takenAt !== takenAt || publishers.size === 0) return
    const listings = new Map(current.snapshot)
    for (const [key, publisher] of publishers) {
      const item = listings.get(key)
      if (item !== undefined) listings.set(key, { ...item, publisher })
    }
    await this.#build(current, listings)
  }

  /** The same listings in another form. Another snapshot that is held meanwhile stays. */
  async #build(current: HeldSnapshot, listings: ReadonlyMap<string, Item>): Promise<void> {
    const change = await current.snapshot.changeTo(listings, this.#options.filters())
    if (this.#state.current !== current || this.#isClosed) return
    this.#state.set(
      { current: { ...current, snapshot: change.make() }, failure: this.#state.failure },
      change,
    )
  }
}

const listingIdOf = (change: FeedChange): string | null =>
  change.kind === 'source' ? null : change.kind === 'listing' ? change.item.listingId : change.listingId

/** @returns the number of listings without room */
function applyTo(snapshot: Snapshot, change: FeedChange): number {
  if (change.kind === 'source') return 0
  if (change.kind === 'removed') {
    const copies = snapshot.find(change.listingId).filter(({ item }) => isRemoved(item, change))
    if (copies.length > 0) snapshot.remove(copies.map(({ key }) => key))
    return 0
  }
  const item = change.item.toItem()
  const key = snapshotKey(item)
  const held = snapshot.find(item.listingId).find((copy) => copy.key === key)
  if (held !== undefined && isUnchecked(held.item, item.origin?.unchecked)) return 0
  if (change.item.isMatch) return snapshot.has(key, item) ? 0 : snapshot.put([item])
  snapshot.remove([key])
  return 0
}

/** Ids whose listings have changed, and not only what a gateway says about them, or what newer ones have pushed out at it. */
function differencesOf(
  { listingIds, before }: ChangedCopies,
  snapshot: Snapshot,
  missing: HeldSnapshot['missing'] = [],
): readonly string[] {
  const inPart = missing.filter(({ state }) => state === 'partial')
  const contentOf = (copies: readonly HeldCopy[]): string =>
    copies
      .filter(({ item: { origin } }) => !inPart.some((one) => origin && coversRegistry(one, origin.registry)))
      .map(
        ({ key, item }) =>
          `${key} ${item.position} ${item.publisher} ${Buffer.from(item.bytes).toString('latin1')}`,
      )
      .sort()
      .join('\n')
  return listingIds.filter((id) => contentOf(before(id)) !== contentOf(snapshot.find(id)))
}

type HoldOptions = {
  copies?: ChangedCopies
  failure?: SourceError | null
  /** As in `SnapshotState.set`. */
  isContinued?: boolean
}
