import type { HeldChange } from '../../domain/source/held.ts'
import { HeldChanges } from '../../domain/source/held-changes.ts'
import { isRefusal } from '../../domain/source/reasons.ts'
import type { SharedPullId, SnapshotFacts, Totals } from '../../domain/source/saved-snapshot.ts'
import type { SourceError } from '../../domain/source/source-error.ts'
import type { SourceStatus } from '../../domain/source/source-status.ts'
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
    /** The shared pull that it was, whose listings `snapshot` had in that version. */
    shared?: (SharedPullId & { version: number }) | undefined
  }

type Content = { current: HeldSnapshot | null; failure: SourceError | null }

/** What is held of an upstream, and how the latest pull ended. The puller of the next runtime continues with it. */
export class SnapshotState {
  #current: HeldSnapshot | null = null
  #failure: SourceError | null = null
  readonly changes = new HeldChanges()
  lastError: SourceStatus['lastError'] = null
  /** Whether the stream of changes of the upstream is open. */
  isFollowed = false
  /** Whether the stream lacks changes of some sources, or says other ones are missing than the pull. */
  isPartlyFollowed = false
  /** Listings that pulls had otherwise than the stream. */
  feedDifferences = 0
  /** Why streams of changes have ended, but for an end by the upstream. */
  readonly feedFailures: Record<string, number> = {}
  /** Whether a pull has ended, with any outcome. */
  isReady = false
  history: PullHistory = NEVER_PULLED

  get current(): HeldSnapshot | null {
    return this.#current
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
   * @param copies those that have changed since the snapshot before, which may be the same object
   * @param isContinued whether a first snapshot is one that was held before, by this replica or another
   */
  set({ current, failure }: Content, copies: ChangedCopies = NO_COPIES, isContinued = false): void {
    const before = { current: this.#current, visible: this.visible }
    // With another failure the object is a new one, so that responses made of the snapshot are not current any more.
    const isOther = failure?.reason !== this.#failure?.reason
    this.#current = isOther && current !== null ? { ...current } : current
    this.#failure = failure
    const { visible } = this
    const either = before.visible ?? visible
    if (before.visible !== null && visible !== null) this.changes.emit(() => new Set(copies.listingIds))
    else if (either !== null) this.changes.emit(() => either.snapshot.listingIds)
    this.#emitChanges(before, copies, isContinued)
  }

  /** What is loaded is followed once it is there. */
  #emitChanges(
    before: { current: HeldSnapshot | null; visible: HeldSnapshot | null },
    copies: ChangedCopies,
    isContinued: boolean,
  ): void {
    const { current, visible, changes } = this
    if (current === null || current.isLoading === true) return
    if (before.current === null || before.current.isLoading === true) {
      changes.emitChange({ kind: 'held', isContinued })
      return
    }
    const { snapshot } = current
    const { listingIds: changed, before: copiesBefore, isPushedOut } = copies
    if (changed.length > 0)
      changes.emitChange({
        kind: 'copies',
        listingIds: changed,
        before: copiesBefore,
        after: snapshot.copiesOf,
        isPushedOut,
      })
    if ((before.visible === null) !== (visible === null))
      changes.emitChange({
        kind: visible === null ? 'hidden' : 'shown',
        listingIds: () => snapshot.listingIds,
      })
  }
}

/** Of what moment the listings are, in ms of `Clock.monotonic`. */
export function currentAt({ takenAt, heardAt = 0 }: HeldSnapshot): number {
  return Math.max(takenAt, heardAt)
}

export type ChangedCopies = Pick<HeldChange & { kind: 'copies' }, 'listingIds' | 'before' | 'isPushedOut'>

const NO_COPIES: ChangedCopies = { listingIds: [], before: () => [] }

/** Whether nothing of the upstream may be shown. */
export function isHiding({ reason }: SourceError): boolean {
  return isRefusal(reason) || reason === 'schema_mismatch'
}
