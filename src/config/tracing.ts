import type { Violation } from '../errors.ts'
import type { Environment } from './environment.ts'

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

export function readTracing(environment: Environment, problems: Violation[]): TracingSettings | null {
  const complain = (path: string, message: string): void => void problems.push({ path, message })
  const choice = <T extends string>(name: string, known: readonly T[], fallback: T): T => {
    const value = environment[name] || fallback
    const found = known.find((one) => one === value)
    if (found === undefined) complain(name, `expected one of ${known.join(', ')}, got '${value}'`)
    return found ?? fallback
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

  const own = endpoint('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')
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
  const url = own?.href ?? (common === null ? null : `${common.href.replace(/\/$/, '')}/v1/traces`)
  if (url === null || isDisabled || exporter === 'none') return null
  return { endpoint: url, serviceName: environment.OTEL_SERVICE_NAME || 'entrepot', sampler, ratio }
}

const PROTOCOLS = ['http/json'] as const
