import type { Clock } from '../domain/clock.ts'
import { EntrepotError } from '../errors.ts'
import type { Logger } from '../log.ts'
import { type Store, StoreUnavailable } from './store.ts'

const PING_INTERVAL_MS = 1000

const WRITES = 'writes'

/** As metrics name them; `read` is all reads of the changelog and the replay guard, `request` its records of the signed line. */
export const STORE_OPERATIONS = [
  'publish',
  'update',
  'delete',
  'request',
  'key',
  'block',
  'audit',
  'ping',
  'read',
] as const

type Operation = (typeof STORE_OPERATIONS)[number]

type StoreHealthOptions = {
  log: Logger
  clock: Clock
  onCall?: (operation: Operation, seconds: number, isFailure: boolean) => void
}

/** A part is all writes together, or one replica. While writes fail, a ping every second tests them. */
export class StoreHealth {
  readonly store: Store
  readonly #log: Logger
  readonly #clock: Clock
  readonly #onCall: NonNullable<StoreHealthOptions['onCall']>
  readonly #failing = new Set<unknown>()
  #latestPing: { at: number; result: Promise<void> } | null = null
  #cancelProbe: (() => void) | null = null
  #closed = false

  constructor(store: Store, { log, clock, onCall = () => {} }: StoreHealthOptions) {
    this.#log = log
    this.#clock = clock
    this.#onCall = onCall
    this.store = this.#watched(store)
  }

  failed(part: unknown, cause: unknown): void {
    if (this.#closed) return
    const wasAvailable = this.#failing.size === 0
    this.#failing.add(part)
    if (!wasAvailable) return
    const reason = cause instanceof StoreUnavailable ? cause.reason : String(cause)
    const about = { reason, ...CONSEQUENCE }
    this.#log.warn(isUnavailable(cause) ? about : { ...about, err: cause }, 'store unavailable')
  }

  /** Also for a part that stops using the store. */
  recovered(part: unknown): void {
    const hadFailed = this.#failing.delete(part)
    if (hadFailed && this.#failing.size === 0 && !this.#closed) this.#log.info('store available')
  }

  #watched(store: Store): Store {
    const call = <T>(operation: Operation, work: () => Promise<T>): Promise<T> =>
      this.#call(store, operation, work)
    return {
      hasUse: (use) => call('read', () => store.hasUse(use)),
      addBlock: (block) => call('block', () => store.addBlock(block)),
      endBlock: (id, onlyIfDue) => call('block', () => store.endBlock(id, onlyIfDue)),
      appendAudit: (entry, bounds) => call('audit', () => store.appendAudit(entry, bounds)),
      readAudit: (since, limit) => call('read', () => store.readAudit(since, limit)),
      reserve: (request) => call('request', () => store.reserve(request)),
      settle: (request, answer) => call('request', () => store.settle(request, answer)),
      rotate: (command) => call('publish', () => store.rotate(command)),
      retire: (command) => call('publish', () => store.retire(command)),
      publish: (command) => call('publish', () => store.publish(command)),
      update: (command) => call('update', () => store.update(command)),
      remove: (command) => call('delete', () => store.remove(command)),
      addKey: (key) => call('key', () => store.addKey(key)),
      seedKey: (key) => call('key', () => store.seedKey(key)),
      replaceKey: (id, endsAt, key) => call('key', () => store.replaceKey(id, endsAt, key)),
      revokeKey: (id) => call('key', () => store.revokeKey(id)),
      load: (visitor) => store.load(visitor),
      changesAfter: (position, limit) => call('read', () => store.changesAfter(position, limit)),
      onChange: (notify) => store.onChange(notify),
      feed: store.feed,
      ping: () => this.#sharedPing(store),
      close: () => {
        this.#closed = true
        this.#cancelProbe?.()
        return store.close()
      },
    }
  }

  #sharedPing(store: Store): Promise<void> {
    const now = this.#clock.monotonic()
    if (this.#latestPing === null || now - this.#latestPing.at >= PING_INTERVAL_MS)
      this.#latestPing = { at: now, result: this.#ping(store) }
    return this.#latestPing.result
  }

  async #ping(store: Store): Promise<void> {
    await this.#call(store, 'ping', () => store.ping())
    this.recovered(WRITES)
  }

  async #call<T>(store: Store, operation: Operation, work: () => Promise<T>): Promise<T> {
    const started = performance.now()
    let isFailure = false
    try {
      return await work()
    } catch (cause) {
      isFailure = operation === 'ping' || isUnavailable(cause)
      if (isFailure && operation !== 'read') this.#writeFailed(store, cause)
      throw cause
    } finally {
      this.#onCall(operation, (performance.now() - started) / 1000, isFailure)
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

/** For the log. */
const CONSEQUENCE = { writes: 'refused', reads: 'from memory' }

function isUnavailable(cause: unknown): boolean {
  return cause instanceof EntrepotError && cause.code === 'unavailable'
}
