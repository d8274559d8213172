import type { Config } from '../config.ts'
import { raceAbort, withDeadline } from '../domain/clock.ts'
import { SingleFlight } from '../domain/single-flight.ts'
import { ConfigError, EntrepotError } from '../errors.ts'
import { registerReloadMetrics } from '../http/metrics/metrics.ts'
import { type Configuration, openConfiguration } from './configuration.ts'
import type { Foundation } from './foundation.ts'

/** Longest wait for upstreams to be requested once before a new configuration takes over. */
const MAX_TRYING_MS = 30_000
/** How long an old configuration stays open for its requests: a stream may be long. */
const MAX_RETIRING_MS = 300_000
/** Settings that need a restart, also where a file holds them. */
const FIXED = [
  ['HOST', 'host'],
  ['PORT', 'port'],
  ['STORE_URL', 'storeUrl'],
] as const

/**
 * Builds the next configuration beside the running one and switches in one assignment once it is ready. The
 * old one closes after its last request. A configuration that cannot be built changes nothing.
 */
export class Reloading {
  readonly #foundation: Foundation
  readonly #closing = new AbortController()
  readonly #retiring = new Set<Promise<void>>()
  #current: Configuration
  readonly #reloads = new SingleFlight((load: () => Config) => this.#reload(load))
  /** Outcome of the latest reload, and time of the last success; the start counts. */
  #wentWell = true
  #wentWellAt: number

  constructor(first: Configuration, foundation: Foundation) {
    this.#current = first
    this.#foundation = foundation
    this.#wentWellAt = foundation.clock.now()
    registerReloadMetrics(foundation.metrics, () => ({ succeeded: this.#wentWell, at: this.#wentWellAt }))
  }

  get current(): Configuration {
    return this.#current
  }

  /** Never rejects. Calls during a reload share one more: the files may have changed. */
  reload(load: () => Config): Promise<void> {
    return this.#reloads.joinNext(load)
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('closed'))
    await this.#reloads.current
    await Promise.all(this.#retiring)
    await this.#current.close()
  }

  async #reload(load: () => Config): Promise<void> {
    const { log, clock } = this.#foundation
    if (this.#closing.signal.aborted) return
    const started = performance.now()
    try {
      const next = await this.#open(load)
      const old = this.#current
      this.#current = next
      this.#retire(old)
      this.#wentWell = true
      this.#wentWellAt = clock.now()
      const ms = Math.round(performance.now() - started)
      log.info({ upstreams: next.config.upstreams.length, ms }, 'reloaded')
    } catch (cause) {
      if (this.#closing.signal.aborted) return
      this.#wentWell = false
      this.#tell(cause)
    }
  }

  /** Returns it ready to take over in the same turn of the event loop. */
  async #open(load: () => Config): Promise<Configuration> {
    const next = await openConfiguration(this.#fixed(load()), this.#foundation, this.#closing.signal)
    const { replica: before } = this.#current
    try {
      await this.#untilReady(next)
      if (next.replica !== before) {
        // From here on, what either replica acknowledges is readable through both.
        next.replica.linkCatchUp(null)
        before.linkCatchUp(next.replica)
        await next.replica.catchUp()
      }
      this.#closing.signal.throwIfAborted()
      return next
    } catch (cause) {
      before.linkCatchUp(null)
      await next.close()
      throw cause
    }
  }

  async #untilReady(next: Configuration): Promise<void> {
    const isReady = await this.#within(MAX_TRYING_MS, next.ready())
    this.#closing.signal.throwIfAborted()
    if (!isReady)
      this.#foundation.log.warn(
        { seconds: MAX_TRYING_MS / 1000 },
        'an upstream has not been heard of yet; the new configuration takes over without it',
      )
  }

  #retire(old: Configuration): void {
    const retiring = this.#within(MAX_RETIRING_MS, old.idle())
      .then(() => old.close())
      .catch((cause: unknown) =>
        this.#foundation.log.warn({ err: cause }, 'an old configuration did not end well'),
      )
      .finally(() => this.#retiring.delete(retiring))
    this.#retiring.add(retiring)
  }

  /** `false` when the time is up or the service closes. */
  async #within(ms: number, work: Promise<void>): Promise<boolean> {
    const error = new Error('late')
    const late = () => error
    const caller = this.#closing.signal
    try {
      await withDeadline({ ms, late, caller }, (signal) => raceAbort(work, signal))
      return true
    } catch (cause) {
      if (cause === error || cause === caller.reason) return false
      throw cause
    }
  }

  #fixed(config: Config): Config {
    const { config: before } = this.#current
    for (const [variable, name] of FIXED)
      if (config[name] !== before[name])
        this.#foundation.log.warn({ variable }, 'a setting has changed that takes a restart')
    const { host, port, storeUrl } = before
    return Object.freeze({ ...config, host, port, storeUrl })
  }

  #tell(cause: unknown): void {
    const { log } = this.#foundation
    const message = 'not reloaded: the configuration from before stays'
    if (!(cause instanceof ConfigError || cause instanceof EntrepotError)) log.error({ err: cause }, message)
    else for (const problem of cause.message.split('\n')) log.error({ problem }, message)
  }
}
