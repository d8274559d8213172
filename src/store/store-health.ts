import type { Clock } from '../domain/clock.ts'
import { EntrepotError } from '../errors.ts'
import type { Logger } from '../log.ts'
import type { StoreCall, StoreOperation } from './commands.ts'
import { StoreUnavailable } from './rows.ts'
import type { Store } from './store.ts'

const PING_INTERVAL_MS = 1000

const WRITES = 'writes'

type StoreHealthOptions = {
  log: Logger
  clock: Clock
  onCall: (operation: StoreOperation, seconds: number, isFailure: boolean) => void
}

/** What calls of the store say of it. A part is all writes together, or one replica. While writes fail, a ping every second tests them. */
export class StoreHealth {
  readonly #store: Pick<Store, 'ping'>
  readonly #options: StoreHealthOptions
  readonly #failing = new Set<unknown>()
  #latestPing: { at: number; result: Promise<void> } | null = null
  #cancelProbe: (() => void) | null = null
  #closed = false

  constructor(store: Pick<Store, 'ping' | 'onCall'>, options: StoreHealthOptions) {
    this.#store = store
    this.#options = options
    store.onCall((call) => this.#called(call))
  }

  failed(part: unknown, cause: unknown): void {
    if (this.#closed) return
    const wasAvailable = this.#failing.size === 0
    this.#failing.add(part)
    if (!wasAvailable) return
    const reason = cause instanceof StoreUnavailable ? cause.reason : String(cause)
    const about = { reason, writes: 'refused', reads: 'from memory' }
    this.#options.log.warn(isUnavailable(cause) ? about : { ...about, err: cause }, 'store unavailable')
  }

  /** Also for a part that stops using the store. */
  recovered(part: unknown): void {
    const hadFailed = this.#failing.delete(part)
    if (hadFailed && this.#failing.size === 0 && !this.#closed) this.#options.log.info('store available')
  }

  /** At most one a second, which all callers share. */
  ping(): Promise<void> {
    const now = this.#options.clock.monotonic()
    if (this.#latestPing === null || now - this.#latestPing.at >= PING_INTERVAL_MS)
      this.#latestPing = { at: now, result: this.#store.ping() }
    return this.#latestPing.result
  }

  close(): void {
    this.#closed = true
    this.#cancelProbe?.()
  }

  #called({ operation, seconds, failure }: StoreCall): void {
    const isFailure = failure !== null && (operation === 'ping' || isUnavailable(failure))
    if (isFailure && operation !== 'read') this.#writeFailed(failure)
    if (operation === 'ping' && !isFailure) this.recovered(WRITES)
    this.#options.onCall(operation, seconds, isFailure)
  }

  #writeFailed(cause: unknown): void {
    this.#latestPing = null
    this.failed(WRITES, cause)
    if (this.#closed) return
    this.#cancelProbe ??= this.#options.clock.after(PING_INTERVAL_MS, () => {
      this.#cancelProbe = null
      this.ping().catch(() => {}) // `#writeFailed` has scheduled the next ping
    })
  }
}

function isUnavailable(cause: unknown): boolean {
  return cause instanceof EntrepotError && cause.code === 'unavailable'
}
