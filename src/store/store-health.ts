import type { Clock } from '../domain/clock.ts'
import { EntrepotError } from '../errors.ts'
import type { Logger } from '../log.ts'
import { type Store, StoreUnavailable } from './store.ts'

const PING_INTERVAL_MS = 1000

const WRITES = 'writes'

/** A part is all writes together, or one replica. While writes fail, a ping every second tests them. */
export class StoreHealth {
  readonly store: Store
  readonly #log: Logger
  readonly #clock: Clock
  readonly #failing = new Set<unknown>()
  #latestPing: { at: number; result: Promise<void> } | null = null
  #cancelProbe: (() => void) | null = null
  #closed = false

  constructor(store: Store, { log, clock }: { log: Logger; clock: Clock }) {
    this.#log = log
    this.#clock = clock
    this.store = this.#watched(store)
  }

  failed(part: unknown, cause: unknown): void {
    if (this.#closed) return
    const wasAvailable = this.#failing.size === 0
    this.#failing.add(part)
    if (!wasAvailable) return
    const reason = cause instanceof StoreUnavailable ? cause.reason : String(cause)
    this.#log.warn(isUnavailable(cause) ? { reason } : { reason, err: cause }, 'store unavailable')
  }

  /** Also for a part that stops using the store. */
  recovered(part: unknown): void {
    const hadFailed = this.#failing.delete(part)
    if (hadFailed && this.#failing.size === 0 && !this.#closed) this.#log.info('store available')
  }

  #watched(store: Store): Store {
    const watch = async <T>(written: Promise<T>): Promise<T> => {
      try {
        return await written
      } catch (cause) {
        if (isUnavailable(cause)) this.#writeFailed(store, cause)
        throw cause
      }
    }
    return {
      hasUse: (use) => store.hasUse(use),
      publish: (command) => watch(store.publish(command)),
      update: (command) => watch(store.update(command)),
      remove: (command) => watch(store.remove(command)),
      addKey: (key) => watch(store.addKey(key)),
      seedKey: (key) => watch(store.seedKey(key)),
      revokeKey: (id) => watch(store.revokeKey(id)),
      load: (visitor) => store.load(visitor),
      changesAfter: (position, limit) => store.changesAfter(position, limit),
      onChange: (notify) => store.onChange(notify),
      ping: () => this.#sharedPing(store),
      close: () => {
        this.#closed = true
        this.#cancelProbe?.()
        return store.close()
      },
    }
  }

  #sharedPing(store: Store): Promise<void> {
    const now = this.#clock.now()
    const age = this.#latestPing === null ? PING_INTERVAL_MS : now - this.#latestPing.at
    if (this.#latestPing === null || age < 0 || age >= PING_INTERVAL_MS)
      this.#latestPing = { at: now, result: this.#ping(store) }
    return this.#latestPing.result
  }

  async #ping(store: Store): Promise<void> {
    try {
      await store.ping()
      this.recovered(WRITES)
    } catch (cause) {
      this.#writeFailed(store, cause)
      throw cause
    }
  }

  #writeFailed(store: Store, cause: unknown): void {
    this.#latestPing = null
    this.failed(WRITES, cause)
    if (this.#closed) return
    this.#cancelProbe ??= this.#clock.after(PING_INTERVAL_MS, () => {
      this.#cancelProbe = null
      this.#sharedPing(store).catch(() => {}) // `#writeFailed` has scheduled the next ping
    })
  }
}

function isUnavailable(cause: unknown): boolean {
  return cause instanceof EntrepotError && cause.code === 'unavailable'
}
