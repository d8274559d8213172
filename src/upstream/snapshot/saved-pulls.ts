import type { SharedPull, SharedPullId } from '../../domain/source/saved-snapshot.ts'
import type { HeldListings } from './held-listings.ts'
import type { PullContext } from './snapshot-state.ts'

export const SAVE_EVERY_MS = 60_000

type SavedPullsOptions = PullContext & { held: HeldListings }

/** Pulls in a file or in Redis. Their failures are logged, and then this process pulls by itself. */
export class SavedPulls {
  readonly #options: SavedPullsOptions
  #savedAt: number | null = null
  /** The latest one in Redis that this process took or shared, and the version of the rows that have its listings. */
  #shared: (SharedPullId & { version: string }) | null = null
  /** What failed last time, which is in the log. */
  readonly #failures = new Set<string>()

  constructor(options: SavedPullsOptions) {
    this.#options = options
  }

  /** At the start. */
  async restore(): Promise<void> {
    const { storage, held } = this.#options
    await this.#try('saved snapshot unreadable', async () => {
      const saved = (await storage?.load()) ?? null
      if (saved !== null) await held.restore(saved)
    })
  }

  /** Takes a newer pull of another replica. @returns the pull, and whether a listing has changed */
  async takeNewer(): Promise<{ pull: SharedPull; hasChanged: boolean } | null> {
    const { shared, held, state } = this.#options
    if (shared === null) return null
    const taken = await this.#try('shared pull unreadable', async () => {
      const pull = await shared.latest()
      const { current } = state
      const last = this.#shared
      // Its time is not exact: one that is held already is known by its id.
      if (pull === null || (current !== null && (pull.id === last?.id || pull.takenAt <= current.takenAt)))
        return null
      const isSame = last?.hash === pull.hash && last.version === current?.snapshot.version
      const listings = isSame ? null : await shared.listings(pull.hash)
      if (listings === null && !isSame) return null
      const hasChanged = await held.take(pull, listings)
      this.#shared = { ...pull, version: state.current?.snapshot.version ?? '' }
      return { pull, hasChanged }
    })
    return taken ?? null
  }

  /** Whether no other replica pulls now. */
  async takeTurn(): Promise<boolean> {
    // Without Redis it is always this one's turn.
    return (await this.#options.shared?.takeTurn().catch(() => true)) ?? true
  }

  async endTurn(): Promise<void> {
    await this.#options.shared?.endTurn().catch(() => {})
  }

  /** After a whole pull of this process. */
  async save(tookMs: number): Promise<void> {
    const { shared, state, clock } = this.#options
    const sinceSaved = this.#savedAt === null ? SAVE_EVERY_MS : clock.monotonic() - this.#savedAt
    if (shared === null && (sinceSaved >= SAVE_EVERY_MS || sinceSaved < 0)) await this.saveFile()
    const { current } = state
    if (shared === null || current === null || current.totals === null) return
    const { snapshot: listings, totals, ...about } = current
    const { version } = listings
    await this.#try('sharing the pull failed', async () => {
      this.#shared = { ...(await shared.share({ ...about, listings, totals, tookMs })), version }
    })
  }

  /** What this process pulled itself. */
  async saveFile(): Promise<void> {
    const { storage, state, clock } = this.#options
    const { current } = state
    if (storage === null || current === null || current.totals === null) return
    const { snapshot: listings, takenAt, ageSeconds, missing, partOf } = current
    this.#savedAt = clock.monotonic()
    await this.#try('saving the snapshot failed', () =>
      storage.save({ takenAt, ageSeconds, listings, missing, partOf }),
    )
  }

  async #try<T>(message: string, work: () => Promise<T>): Promise<T | undefined> {
    const { log, upstream, shared } = this.#options
    try {
      const result = await work()
      this.#failures.delete(message)
      return result
    } catch (cause) {
      if (shared?.isAway(cause)) return undefined // the store logs it
      // No fault of the upstream.
      const about = {
        snapshot_of: upstream.name,
        reason: cause instanceof Error ? cause.message : String(cause),
      }
      if (!this.#failures.has(message)) log.warn(about, message)
      this.#failures.add(message)
      return undefined
    }
  }
}
