import { z } from 'zod'
import type { Violation } from '../errors.ts'
import { ownOrShippedFile } from './shipped-files.ts'

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** An empty variable counts as unset. */
export type Settings = {
  host: string
  /** 0 takes any free port. */
  port: number
  configPath: string
  storeUrl: string
  requireReadKey: boolean
  requireWriteKey: boolean
  /** Whether the environment has both, so that two open gates are meant. */
  setsGates: boolean
  /** `null`: the admin routes answer 401. */
  adminKey: string | null
  bootstrapKey: string | null
  /** Opens `GET /metrics` and nothing else, for a scraper that is set up before the first key can be minted. */
  metricsKey: string | null
  filterSpecPath: string
  metricsPublic: boolean
  logLevel: LogLevel
  /** Whether the log has addresses of clients; otherwise it has a hash of each. */
  logClients: boolean
  /** `null`: traces are passed on but not recorded. */
  tracing: TracingSettings | null
}

/** An IPv6 address is in brackets (RFC 3986 section 3.2.2). */
export const serviceUrl = (host: string, port: number | string): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`

/** The file of a store in SQLite, which may be `:memory:`; `null` for Redis. */
export const sqlitePath = (storeUrl: string): string | null => /^sqlite:(.+)$/.exec(storeUrl)?.[1] ?? null

const STORE_URL = /^(sqlite:.+|rediss?(\+sentinel)?:\/\/.+|redis\+cluster:\/\/.+)$/
const BOOLEAN = z.stringbool({ truthy: ['true', '1', 'yes', 'on'], falsy: ['false', '0', 'no', 'off'] })

const GATES = ['REGISTRY_REQUIRE_READ_API_KEY', 'REGISTRY_REQUIRE_WRITE_API_KEY']

export function readEnvironment(environment: Environment, problems: Violation[]): Settings {
  const text = (name: string): string | null => environment[name] || null
  const complain: Complain = (path, message) => void problems.push({ path, message })

  const boolean = (name: string): boolean => {
    const { success, data = false } = BOOLEAN.safeParse(text(name) ?? 'false')
    if (!success) complain(name, `expected true, false, 1, 0, yes, no, on or off, got '${text(name)}'`)
    return data
  }
  const port = (): number => {
    const value = text('PORT') ?? '8080'
    if (/^\d{1,5}$/.test(value) && Number(value) <= 65_535) return Number(value)
    complain('PORT', `expected a port number from 0 to 65535, got '${value}'`)
    return 8080
  }
  const storeUrl = (): string => {
    const value = text('STORE_URL') ?? 'sqlite:data/entrepot.db'
    // The value may hold a password, so it is not repeated.
    if (!STORE_URL.test(value))
      complain(
        'STORE_URL',
        'expected sqlite:PATH, sqlite::memory:, redis://…, rediss://…, redis+cluster://… or redis+sentinel://…',
      )
    return value
  }
  const logLevel = (): LogLevel => {
    const value = text('LOG_LEVEL') ?? 'info'
    const level = LOG_LEVELS.find((one) => one === value.toLowerCase())
    if (level === undefined) complain('LOG_LEVEL', `expected one of ${LOG_LEVELS.join(', ')}, got '${value}'`)
    return level ?? 'info'
  }

  return {
    host: text('HOST') ?? '127.0.0.1',
    port: port(),
    configPath: text('ENTREPOT_CONFIG') ?? ownOrShippedFile('gateway.toml'),
    storeUrl: storeUrl(),
    requireReadKey: boolean('REGISTRY_REQUIRE_READ_API_KEY'),
    requireWriteKey: boolean('REGISTRY_REQUIRE_WRITE_API_KEY'),
    setsGates: GATES.every((name) => text(name) !== null),
    adminKey: text('REGISTRY_ADMIN_API_KEY'),
    bootstrapKey: text('REGISTRY_BOOTSTRAP_API_KEY'),
    metricsKey: text('REGISTRY_METRICS_API_KEY'),
    filterSpecPath: text('REGISTRY_FILTER_SPEC_PATH') ?? ownOrShippedFile('filter-spec.yaml'),
    metricsPublic: boolean('METRICS_PUBLIC'),
    logLevel: logLevel(),
    logClients: boolean('LOG_CLIENTS'),
    tracing: readTracing(environment, complain),
  }
}

export type TracingSettings = {
  endpoint: string
  serviceName: string
  sampler: TraceSampler
  /** Of `traceidratio`: the share of traces that is kept, 0 to 1. */
  ratio: number
}

const TRACE_SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const
export type TraceSampler = (typeof TRACE_SAMPLERS)[number]

type Complain = (variable: string, message: string) => void

function readTracing(environment: Environment, complain: Complain): TracingSettings | null {
  const choice = <T extends string>(name: string, choices: readonly T[], fallback: T): T => {
    const value = environment[name] || fallback
    const match = choices.find((one) => one === value)
    if (match === undefined) complain(name, `expected one of ${choices.join(', ')}, got '${value}'`)
    return match ?? fallback
  }
  const endpoint = (name: string): URL | null => {
    const value = environment[name]
    if (!value) return null
    const url = URL.parse(value)
    // The value may hold a password, so it is not repeated.
    if (url === null || !['http:', 'https:'].includes(url.protocol))
      complain(name, 'expected an http or https URL')
    else if (url.username || url.password)
      complain(name, 'must not hold credentials; use OTEL_EXPORTER_OTLP_HEADERS')
    return url
  }

  const tracesEndpoint = endpoint('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')
  const common = endpoint('OTEL_EXPORTER_OTLP_ENDPOINT')
  const isDisabled = environment.OTEL_SDK_DISABLED?.toLowerCase() === 'true'
  const exporter = choice('OTEL_TRACES_EXPORTER', ['otlp', 'none'], 'otlp')
  choice('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', PROTOCOLS, 'http/json')
  choice('OTEL_EXPORTER_OTLP_PROTOCOL', PROTOCOLS, 'http/json')
  const sampler = choice('OTEL_TRACES_SAMPLER', TRACE_SAMPLERS, 'parentbased_always_on')
  const ratio = Number(environment.OTEL_TRACES_SAMPLER_ARG || 1)
  if (!(ratio >= 0 && ratio <= 1))
    complain(
      'OTEL_TRACES_SAMPLER_ARG',
      `expected a number from 0 to 1, got '${environment.OTEL_TRACES_SAMPLER_ARG}'`,
    )
  const url = tracesEndpoint?.href ?? (common === null ? null : `${common.href.replace(/\/$/, '')}/v1/traces`)
  if (url === null || isDisabled || exporter === 'none') return null
  return { endpoint: url, serviceName: environment.OTEL_SERVICE_NAME || 'entrepot', sampler, ratio }
}

const PROTOCOLS = ['http/json'] as const

export type Environment = Readonly<Record<string, string | undefined>>

/** The only read of `process.env`. */
export const environment: Environment = process.env
