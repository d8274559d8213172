import type { Clock } from '../../domain/clock.ts'
import { Emitter } from '../../domain/emitter.ts'
import type { HoldingChange } from '../../domain/source/holding.ts'
import { isRefusal } from '../../domain/source/reasons.ts'
import type {
  SharedPulls,
  SnapshotFacts,
  SnapshotStorage,
  Totals,
} from '../../domain/source/saved-snapshot.ts'
import type { SourceError } from '../../domain/source/source-error.ts'
import type { SourceLog, SourceStatus } from '../../domain/source/source-status.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'
import type { Filter } from '../../filter-spec/filter.ts'
import type { CopyIndex } from '../../listing-index/copy-index.ts'
import type { Get } from '../http/request.ts'
import type { Narrowing } from '../push-down.ts'
import { NEVER_PULLED, type PullHistory } from './next-pull.ts'
import type { Pull } from './pull.ts'
import type { Snapshot } from './snapshot.ts'

/**
 * `takenAt`: start of the pull. `partOf`: how many listings the upstream has, where others are not held. Earlier listings of `missing`
 * sources are retained.
 */
export type HeldSnapshot = SnapshotFacts &
  Pick<Pull, 'invalid' | 'gatewayId'> & {
    snapshot: Snapshot
    /** Whether the first pull has not ended yet, and more listings arrive. */
    isLoading?: boolean
    /** From where the stream of changes goes on; absent: the upstream has none. */
    feedPosition?: string | undefined
    /** When the stream of changes was heard last. */
    heardAt?: number | undefined
    /** `null` where it was restored from a file, and while it is loaded. */
    totals: Totals | null
  }

/** What pulls of an upstream work with. */
export type PullContext = {
  upstream: UpstreamOptions
  get: Get
  /** What is asked of it. */
  query: Narrowing['query']
  index: CopyIndex
  /** Of all that readers may use: the index has their columns. */
  filters: () => readonly Filter[]
  /** Memory that the snapshot may take: further listings are not held, the oldest first. */
  maxBytes: () => number
  /** Called with the memory of the snapshot. */
  onResize: (bytes: number) => void
  /** For a restart; `null` with Redis. */
  storage: SnapshotStorage | null
  /** With other replicas; `null` without Redis. */
  shared: SharedPulls | null
  state: SnapshotState
  clock: Clock
  random: () => number
  log: SourceLog
}

type Content = { current: HeldSnapshot | null; failure: SourceError | null }

/** What is held of an upstream, and how the latest pull ended. The puller of the next runtime continues with it. */
export class SnapshotState {
  #current: HeldSnapshot | null = null
  #failure: SourceError | null = null
  readonly changes = new Emitter<HoldingChange>()
  lastError: SourceStatus['lastError'] = null
  /** Whether the stream of changes of the upstream is open. */
  isFollowed = false
  /** Whether the stream lacks changes of some sources, or says other ones are missing than the pull. */
  isPartlyFollowed = false
  /** Listings that pulls had otherwise than the stream. */
  feedDifferences = 0
  /** Why streams of changes have ended, but for an end by the upstream. */
  readonly feedFailures: Record<string, number> = {}
  history: PullHistory = NEVER_PULLED

  get current(): HeldSnapshot | null {
    return this.#current
  }

  /** Removes what is held. */
  async drop(): Promise<void> {
    const { current } = this
    this.#current = null
    await current?.snapshot.drop()
  }

  /** Whether a pull has ended well, of this process or an earlier one. */
  get isHeld(): boolean {
    return this.#current !== null && this.#current.isLoading !== true
  }

  /** Of the latest pull. */
  get failure(): SourceError | null {
    return this.#failure
  }

  /** `null` also while the upstream refuses our key. */
  get visible(): HeldSnapshot | null {
    return this.#failure !== null && isHiding(this.#failure) ? null : this.#current
  }

  /**
   * @param isContinued whether a first snapshot is one that was held before, by this replica or another
   */
  set({ current, failure }: Content, isContinued = false): void {
    const before = { current: this.#current, visible: this.visible }
    // With another failure the object is a new one, so that responses made of the snapshot are not current any more.
    const isOther = failure?.reason !== this.#failure?.reason
    this.#current = isOther && current !== null ? { ...current } : current
    this.#failure = failure
    this.#emitChanges(before, isContinued)
  }

  /** What is loaded is followed once it is there. */
  #emitChanges(
    before: { current: HeldSnapshot | null; visible: HeldSnapshot | null },
    isContinued: boolean,
  ): void {
    const { current, visible, changes } = this
    if (current === null || current.isLoading === true) return
    if (before.current === null || before.current.isLoading === true) {
      changes.emit({ kind: 'held', isContinued })
      return
    }
    const { source } = current.snapshot
    const { source: from } = before.current.snapshot
    if (from !== source) changes.emit({ kind: 'replaced', from, to: source })
    if ((before.visible === null) !== (visible === null))
      changes.emit({ kind: visible === null ? 'hidden' : 'shown', source })
    if (before.current.partOf !== undefined && current.partOf === undefined) changes.emit({ kind: 'whole' })
  }
}

/** Of what moment the listings are, in ms of `Clock.monotonic`. */
export function currentAt({ takenAt, heardAt = 0 }: HeldSnapshot): number {
  return Math.max(takenAt, heardAt)
}

/** Whether nothing of the upstream may be shown. */
export function isHiding({ reason }: SourceError): boolean {
  return isRefusal(reason) || reason === 'schema_mismatch'
}
