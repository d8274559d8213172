import type { RequestListener } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import { type Config, loadConfig } from '../config/config.ts'
import { openStoreProblem } from '../config/warnings.ts'
import { opensGates } from '../domain/api-key.ts'
import { raceAbort, repeat, systemClock, withDeadline } from '../domain/clock.ts'
import { SingleFlight } from '../domain/single-flight.ts'
import { ConfigError, EntrepotError } from '../errors.ts'
import type { FilterSpec } from '../filter-spec/filter.ts'
import { readFilterSpec } from '../filter-spec/load.ts'
import { timeOf } from '../gateway/source-report.ts'
import {
  registerChangesMetrics,
  registerIndexMetrics,
  registerReloadMetrics,
} from '../http/metrics/metrics.ts'
import { registerSourceMetrics } from '../http/metrics/source-metrics.ts'
import type { OnAnswered } from '../http/middleware/request-log.ts'
import type { Route } from '../http/route.ts'
import type { Reload } from '../http/routes/replicas.ts'
import type { Logger } from '../log.ts'
import { ApiKeys } from '../registry/api-keys.ts'
import { invalid } from '../registry/errors.ts'
import type { Replica } from '../registry/replica.ts'
import type { ReloadResultJson } from '../wire/fleet.ts'
import { localAct } from './local-acts.ts'
import { CleanupStack, type Overrides, openProcess, type ProcessScope } from './process.ts'
import { openRuntime, type Runtime } from './runtime.ts'

/** Longest wait for upstreams to be requested once before a new configuration takes over. */
const MAX_READY_MS = 30_000
/** How long an old configuration stays open for its requests: a stream may be long. */
const MAX_RETIRING_MS = 300_000
const SELF_CHECK_MS = 60_000
/** Settings that need a restart, also where a file holds them. */
const FIXED = [
  ['HOST', 'host'],
  ['PORT', 'port'],
  ['STORE_URL', 'storeUrl'],
  ['LOG_LEVEL', 'logLevel'],
  ['OTEL_…', 'tracing'],
] as const

/**
 * Opens what lives as long as the process, and the first configuration.
 * @throws ConfigError when the filter spec or the store cannot be used
 */
export async function createContext(config: Config, overrides: Overrides = {}): Promise<Context> {
  const cleanup = new CleanupStack()
  try {
    const scope = await openProcess(config, overrides)
    cleanup.add(scope.close)
    let context: Context
    const reload: Reload = { now: () => context.reload(), preview: () => context.preview() }
    const first = await openRuntime({ config, scope, previous: null, reload })
    cleanup.add(() => first.close(null))
    refuseOpenGates(config, first.replica, scope.log)
    await seedKey(config, scope, first.replica)
    context = new Context(scope, first, overrides.load ?? loadConfig)
    return context
  } catch (cause) {
    await cleanup.close()
    throw cause
  }
}

async function seedKey({ bootstrapKey, keys }: Config, scope: ProcessScope, replica: Replica): Promise<void> {
  if (bootstrapKey === null) return
  const { key, isNew, revoked } = await new ApiKeys(scope.store, replica, keys).seed(
    bootstrapKey,
    scope.clock.now() * 1000,
  )
  if (key === null) return
  const about = { id: key.id, revoked: revoked.map(({ id }) => id) }
  if (key.revokedAt !== null) scope.log.warn(about, 'bootstrap key is revoked and opens nothing: set another')
  else if (isNew)
    scope.log[revoked.length === 0 ? 'info' : 'warn'](
      about,
      'bootstrap key added; those before it are revoked',
    )
}

/** @throws ConfigError where the settings leave a gate out */
function refuseOpenGates(config: Config, replica: Replica, log: Logger): void {
  const problem = openStoreProblem(config, replica.projection.keys().filter(opensGates).length)
  if (problem === null) return
  if (!config.setsGates) throw new ConfigError([problem])
  log.warn({ setting: problem.path, problem: problem.message }, 'configuration warning')
}

/**
 * A service that is loaded but does not listen yet. A reload builds the next runtime beside the running one
 * and switches to it in one assignment. The old one closes after its last request.
 */
export class Context {
  readonly #scope: ProcessScope
  readonly #load: () => Config
  readonly #stopping = new AbortController()
  readonly #closing = new AbortController()
  readonly listener: RequestListener
  #current: Runtime
  /** Earlier runtimes close one after the other, since each leaves open what its successor uses. */
  #retired: Promise<void> = Promise.resolve()
  readonly #reloads = new SingleFlight((load: () => Config) => this.#reload(load))
  /** Time of the last success; the start counts. */
  #succeededAt: number
  #latestReload: { at: number; error: string | null }
  /** Differences that checks of the index have found. */
  #inconsistencies = 0
  readonly #endChecks: () => void

  constructor(scope: ProcessScope, first: Runtime, load: () => Config) {
    const { metrics, clock } = scope
    this.#scope = scope
    this.#load = load
    this.#current = first
    this.#succeededAt = clock.now()
    this.#latestReload = { at: this.#succeededAt, error: null }
    this.listener = (request, response) => this.#current.listener(request, response)
    const { log } = scope.changes.stored
    registerSourceMetrics(
      metrics,
      () => this.#current.sources,
      (source) => log.changedAt(source),
    )
    registerChangesMetrics(metrics, () => ({
      watchers: this.#current.watchers.count,
      entries: log.added,
    }))
    registerReloadMetrics(metrics, () => ({
      succeeded: this.#latestReload.error === null,
      at: this.#succeededAt,
    }))
    registerIndexMetrics(metrics, () => this.#inconsistencies)
    this.#endChecks = repeat(clock, SELF_CHECK_MS, () => this.#checkIndex())
    first.activate()
    scope.fleet.start(() => ({
      reload: { at: timeOf(this.#latestReload.at), error: this.#latestReload.error },
      minutes: scope.requests.minutes.read(systemClock.monotonic()),
      watchers: this.#current.watchers.count,
      inconsistencies: this.#inconsistencies,
      statuses: this.#current.sources.map(({ status }) => status()),
    }))
  }

  get config(): Config {
    return this.#current.config
  }

  /** Resolves when each upstream was requested once, with any outcome. */
  get ready(): Promise<unknown> {
    return this.#current.ready
  }

  get routes(): readonly Route[] {
    return this.#current.routes
  }

  get log(): Logger {
    return this.#scope.log
  }

  get onAnswered(): OnAnswered {
    return this.#scope.onAnswered
  }

  /**
   * Never rejects. The result is also in the log. A failed reload changes nothing; its error is that of the answer.
   * Calls during a reload share the next one.
   */
  reload(load = this.#load): Promise<ReloadResultJson | Error> {
    return this.#reloads.joinNext(load)
  }

  /** As an operator on the host asks for it. */
  async reloadBySignal(): Promise<void> {
    const result = await this.reload()
    const failure = result instanceof EntrepotError ? result.code : 'internal'
    const act = localAct('reload', 'SIGHUP', result instanceof Error ? failure : 'ok')
    await this.#scope.auditOf(this.config.audit).record(act)
  }

  /** What a reload would change now, or why it would fail. */
  preview(): ReloadResultJson | Error {
    const started = performance.now()
    try {
      const config = this.#load()
      const spec = readFilterSpec(config.filterSpecPath)
      return changesBetween(this.#current, { config, spec }, started)
    } catch (cause) {
      return cause instanceof ConfigError
        ? invalid(cause.problems, { prefix: 'A reload would fail: ' })
        : (cause as Error)
    }
  }

  /** Ends waits for changes, and a running reload, whose request would delay a drain, and every later one. */
  stopReloading(): void {
    this.#stopping.abort(new Error('stopping'))
    this.#current.watchers.stop()
  }

  async close(): Promise<void> {
    this.stopReloading()
    this.#endChecks()
    this.#closing.abort(new Error('closed'))
    await this.#reloads.current
    await this.#retired
    await this.#current.close(null)
    await this.#scope.close()
  }

  /** What is derived and wrong is reported, the first time in the log, too. */
  #checkIndex(): void {
    const found = this.#current.selfCheck()
    if (found > 0 && this.#inconsistencies === 0)
      this.#scope.log.error({ found }, 'index inconsistent: restart this process and report it')
    this.#inconsistencies += found
  }

  async #reload(load: () => Config): Promise<ReloadResultJson | Error> {
    const { log, clock } = this.#scope
    const { signal } = this.#stopping
    if (signal.aborted) return stopping()
    const started = performance.now()
    try {
      const before = this.#current
      const newConfig = load()
      const config = withFixed(newConfig, before.config)
      const reload: Reload = { now: () => this.reload(), preview: () => this.preview() }
      const next = await openRuntime({ config, scope: this.#scope, previous: before, signal, reload })
      await this.#untilReady(next)
      this.#switchTo(next)
      this.#succeededAt = clock.now()
      this.#latestReload = { at: this.#succeededAt, error: null }
      const result = changesBetween(before, { config: newConfig, spec: next.spec }, started)
      log[result.restart_needed.length > 0 ? 'warn' : 'info'](result, 'reloaded')
      return result
    } catch (cause) {
      if (signal.aborted) return stopping()
      this.#current.activate()
      this.#latestReload = { at: clock.now(), error: textOf(cause) }
      this.#logFailure(cause)
      return cause instanceof ConfigError ? refused(cause) : (cause as Error)
    }
  }

  /** Resolves when it can take over in the same turn of the event loop. */
  async #untilReady(next: Runtime): Promise<void> {
    const { replica } = this.#current
    const { signal } = this.#stopping
    try {
      const isReady = await this.#endsWithin(MAX_READY_MS, next.ready, signal)
      signal.throwIfAborted()
      if (!isReady)
        this.#scope.log.warn(
          { seconds: MAX_READY_MS / 1000 },
          'reloading before every upstream of the new configuration has answered',
        )
      if (next.replica === replica) return
      // From here on, what either replica acknowledges is readable through both.
      next.replica.linkCatchUp(null)
      replica.linkCatchUp(next.replica)
      // Both have every change so far, so the next one misses none that only this one has seen.
      await replica.catchUp()
      signal.throwIfAborted()
    } catch (cause) {
      replica.linkCatchUp(null)
      await next.close(this.#current)
      throw cause
    }
  }

  #switchTo(next: Runtime): void {
    const old = this.#current
    this.#current = next
    next.activate()
    const stopped = old.stop()
    this.#retired = this.#retired
      .then(() => this.#endsWithin(MAX_RETIRING_MS, old.idle(), this.#closing.signal))
      .then(() => stopped)
      .then(() => old.close(next))
      .catch((cause: unknown) =>
        this.#scope.log.warn({ err: cause }, 'closing the previous configuration failed'),
      )
  }

  /** `false` when the time is up or the caller aborts. */
  async #endsWithin(ms: number, work: Promise<unknown>, caller: AbortSignal): Promise<boolean> {
    const error = new Error('timeout')
    const timeoutError = () => error
    try {
      await withDeadline({ ms, timeoutError, caller }, (signal) => raceAbort(work, signal))
      return true
    } catch (cause) {
      if (cause === error || cause === caller.reason) return false
      throw cause
    }
  }

  #logFailure(cause: unknown): void {
    const { log } = this.#scope
    const message = 'reload failed, the previous configuration stays'
    if (!isExplained(cause)) log.error({ err: cause }, message)
    else for (const problem of cause.message.split('\n')) log.error({ problem }, message)
  }
}

function withFixed(config: Config, { host, port, storeUrl, logLevel }: Config): Config {
  return Object.freeze({ ...config, host, port, storeUrl, logLevel })
}

const refused = ({ problems }: ConfigError): EntrepotError =>
  invalid(problems, { prefix: 'Reload failed, the previous configuration stays: ' })

const stopping = (): EntrepotError =>
  new EntrepotError('unavailable', 'The process is stopping, so it does not reload')

const textOf = (cause: unknown): string =>
  isExplained(cause) ? cause.message : 'an unexpected error: see the log'

const isExplained = (cause: unknown): cause is Error =>
  cause instanceof ConfigError || cause instanceof EntrepotError

/** Reported in another way, or of the start only. */
type Unreported = 'upstreams' | 'warnings' | 'configPath' | 'filterSpecPath' | 'bootstrapKey' | 'setsGates'
type Reported = Exclude<keyof Config, (typeof FIXED)[number][1] | Unreported>

/** What a reload reports, by the names of the settings. Of a key its principal counts: the same key that is read again is no change. */
const SETTINGS: Readonly<Record<Reported, readonly [name: string, read: (config: Config) => unknown]>> = {
  gateway: ['gateway', (config) => config.gateway],
  identity: ['gateway.identity', ({ identity }) => identity && [identity.role, identity.signer.principal]],
  registry: ['registry', (config) => config.registry],
  audit: ['audit', (config) => config.audit],
  changes: ['changes', (config) => config.changes],
  curation: ['curation', ({ curation: { rules, ...rest } }) => [rest, rules.map(withoutPlace)]],
  views: ['views', ({ views }) => views.map(withoutPlace)],
  access: ['access', (config) => config.access],
  keys: ['keys', (config) => config.keys],
  cache: ['cache', (config) => config.cache],
  limits: ['limits', (config) => config.limits],
  tokens: ['tokens', (config) => config.tokens],
  vocabulary: ['vocabulary', (config) => config.vocabulary.tables.version],
  adminKey: ['REGISTRY_ADMIN_API_KEY', (config) => config.adminKey],
  metricsKey: ['REGISTRY_METRICS_API_KEY', (config) => config.metricsKey],
  requireReadKey: ['REGISTRY_REQUIRE_READ_API_KEY', (config) => config.requireReadKey],
  requireWriteKey: ['REGISTRY_REQUIRE_WRITE_API_KEY', (config) => config.requireWriteKey],
  metricsPublic: ['METRICS_PUBLIC', (config) => config.metricsPublic],
  logClients: ['LOG_CLIENTS', (config) => config.logClients],
  authority: [
    'REGISTRY_AUTHORITY_…',
    ({ authority }) => authority && [authority.id, authority.signer.principal],
  ],
}

/** A line that has moved is no change. */
const withoutPlace = <Entry extends { placeOf: unknown }>({ placeOf: _, ...entry }: Entry) => entry

type Loaded = { config: Config; spec: Pick<FilterSpec, 'signedEtag'> }

/** @param next as loaded, with settings that need a restart */
function changesBetween(before: Loaded, next: Loaded, started: number): ReloadResultJson {
  const { upstreams, changed } = configChanges(before.config, next.config)
  return {
    upstreams,
    changed: next.spec.signedEtag === before.spec.signedEtag ? changed : [...changed, 'filter_spec'],
    restart_needed: FIXED.filter(([, key]) => !isDeepStrictEqual(next.config[key], before.config[key])).map(
      ([variable]) => variable,
    ),
    ms: Math.round(performance.now() - started),
  }
}

/** What differs between two configurations, by the names of the settings. */
function configChanges(before: Config, after: Config): Pick<ReloadResultJson, 'upstreams' | 'changed'> {
  const oldByName = new Map(before.upstreams.map((one) => [one.name, one]))
  const newByName = new Map(after.upstreams.map((one) => [one.name, one]))
  const names = [...newByName.keys()]
  return {
    upstreams: {
      added: names.filter((name) => !oldByName.has(name)),
      removed: [...oldByName.keys()].filter((name) => !newByName.has(name)),
      changed: names.filter(
        (name) => oldByName.has(name) && !isDeepStrictEqual(oldByName.get(name), newByName.get(name)),
      ),
    },
    changed: Object.values(SETTINGS)
      .filter(([, read]) => !isDeepStrictEqual(read(before), read(after)))
      .map(([name]) => name),
  }
}
