import type { Violation } from '../errors.ts'
import type { Environment } from './environment.ts'
import { readTracing, type TracingSettings } from './tracing.ts'

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
  /** `null`: the admin routes answer 401. */
  adminKey: string | null
  bootstrapKey: string | null
  filterSpecPath: string
  metricsPublic: boolean
  logLevel: LogLevel
  /** `null`: traces are passed on but not recorded. */
  tracing: TracingSettings | null
}

const STORE_URL = /^(sqlite:.+|rediss?:\/\/.+|redis\+cluster:\/\/.+)$/
const BOOLEANS: Readonly<Record<string, boolean>> = {
  true: true,
  '1': true,
  yes: true,
  on: true,
  false: false,
  '0': false,
  no: false,
  off: false,
}

export function readEnvironment(environment: Environment, problems: Violation[]): Settings {
  const text = (name: string): string | null => environment[name] || null
  const complain = (path: string, message: string): void => void problems.push({ path, message })

  const boolean = (name: string): boolean => {
    const value = BOOLEANS[(text(name) ?? 'false').toLowerCase()]
    if (value === undefined)
      complain(name, `expected true, false, 1, 0, yes, no, on or off, got '${text(name)}'`)
    return value ?? false
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
        'expected sqlite:PATH, sqlite::memory:, redis://…, rediss://… or redis+cluster://…',
      )
    return value
  }
  const logLevel = (): LogLevel => {
    const value = text('LOG_LEVEL') ?? 'info'
    const level = LOG_LEVELS.find((known) => known === value.toLowerCase())
    if (level === undefined) complain('LOG_LEVEL', `expected one of ${LOG_LEVELS.join(', ')}, got '${value}'`)
    return level ?? 'info'
  }

  return {
    host: text('HOST') ?? '127.0.0.1',
    port: port(),
    configPath: text('ENTREPOT_CONFIG') ?? 'config/gateway.toml',
    storeUrl: storeUrl(),
    requireReadKey: boolean('REGISTRY_REQUIRE_READ_API_KEY'),
    requireWriteKey: boolean('REGISTRY_REQUIRE_WRITE_API_KEY'),
    adminKey: text('REGISTRY_ADMIN_API_KEY'),
    bootstrapKey: text('REGISTRY_BOOTSTRAP_API_KEY'),
    filterSpecPath: text('REGISTRY_FILTER_SPEC_PATH') ?? 'config/filter-spec.yaml',
    metricsPublic: boolean('METRICS_PUBLIC'),
    logLevel: logLevel(),
    tracing: readTracing(environment, problems),
  }
}
