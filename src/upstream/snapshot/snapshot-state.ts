import { HeldChanges } from '../../domain/source/held-changes.ts'
import { traitsOf } from '../../domain/source/reasons.ts'
import type { SharedPullId, SnapshotFacts, Totals } from '../../domain/source/saved-snapshot.ts'
import type { SourceError } from '../../domain/source/source-error.ts'
import type { SourceStatus } from '../../domain/source/source-status.ts'
import { NEVER_PULLED, type PullHistory } from './next-pull.ts'
import type { Pull, TooLargeToHold } from './pull.ts'
import type { Snapshot } from './snapshot.ts'

/** `takenAt`: start of the pull. Earlier listings of `missing` sources are retained. */
export type HeldSnapshot = SnapshotFacts &
  Pick<Pull, 'invalid' | 'gatewayId'> & {
    snapshot: Snapshot
    /** `null` where it was restored from a file. */
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
  /** Why it is not held. */
  tooLarge: TooLargeToHold | null = null
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

  /** @param listingIds ids whose copies have changed since the snapshot before, which may be the same object */
  set({ current, failure }: Content, listingIds: Iterable<string> = []): void {
    const before = this.visible
    // With another failure the object is a new one, so that responses made of the snapshot are not current any more.
    const isOther = failure?.reason !== this.#failure?.reason
    this.#current = isOther && current !== null ? { ...current } : current
    this.#failure = failure
    const { visible } = this
    const either = before ?? visible
    if (before !== null && visible !== null) this.changes.emit(() => new Set(listingIds))
    else if (either !== null) this.changes.emit(() => either.snapshot.listingIds)
  }
}

/** Whether nothing of the upstream may be shown. */
export function isHiding({ reason }: SourceError): boolean {
  return traitsOf(reason).fault === 'credential' || reason === 'schema_mismatch'
}
