import type { KeyUse, KeyUseStorage } from '../domain/api-key.ts'
import { type Clock, raceAbort } from '../domain/clock.ts'

const SAVE_EVERY_MS = 60_000
/** Longest wait for the storage: the uses stay in memory for the next save. */
const MAX_WAIT_MS = 1000

/** Counts requests by API key in memory, and saves the counts once a minute. A crash loses those of a minute. */
export class KeyUsage {
  readonly #storage: KeyUseStorage | null
  readonly #clock: Clock
  /** As last read, of all replicas. */
  #saved = new Map<number, KeyUse>()
  #pending = new Map<number, KeyUse>()
  /** One step after the other: a read between a save and its end would count twice. */
  #last: Promise<unknown> = Promise.resolve()
  #cancelTimer: () => void = () => {}

  /** @param storage `null`: nothing outlives the process */
  constructor(storage: KeyUseStorage | null, clock: Clock) {
    this.#storage = storage
    this.#clock = clock
    this.#schedule()
  }

  count(keyId: number): void {
    add(this.#pending, { keyId, calls: 1, lastUsedAt: this.#clock.now() * 1000 })
  }

  /** Includes uses of this process that are not saved yet. While the storage is away, the others are as last read. */
  async read(): Promise<ReadonlyMap<number, KeyUse>> {
    const storage = this.#storage
    if (storage !== null) await this.#next(() => this.#refresh(storage))
    const all = new Map(this.#saved)
    for (const use of this.#pending.values()) add(all, use)
    return all
  }

  async save(): Promise<void> {
    const storage = this.#storage
    if (storage === null || this.#pending.size === 0) return
    await this.#next(async () => {
      const uses = this.#pending
      this.#pending = new Map()
      const isSaved = await storage.add([...uses.values()]).then(
        () => true,
        () => false, // the store reports that it is away
      )
      for (const use of uses.values()) add(isSaved ? this.#saved : this.#pending, use)
    })
  }

  async close(): Promise<void> {
    this.#cancelTimer()
    await this.save()
  }

  async #refresh(storage: KeyUseStorage): Promise<void> {
    try {
      this.#saved = new Map((await storage.read()).map((use) => [use.keyId, use]))
    } catch {
      // As in `save`.
    }
  }

  #schedule(): void {
    this.#cancelTimer = this.#clock.after(SAVE_EVERY_MS, () => {
      void this.save()
      this.#schedule()
    })
  }

  async #next(step: () => Promise<void>): Promise<void> {
    const running = this.#last.then(step)
    this.#last = running
    await raceAbort(running, AbortSignal.timeout(MAX_WAIT_MS)).catch(() => {})
  }
}

function add(uses: Map<number, KeyUse>, { keyId, calls, lastUsedAt }: KeyUse): void {
  const sum = uses.get(keyId) ?? { calls: 0, lastUsedAt }
  uses.set(keyId, {
    keyId,
    calls: sum.calls + calls,
    lastUsedAt: Math.max(sum.lastUsedAt, lastUsedAt),
  })
}
