import test from 'ava'
import { readEnvironment } from '../../../src/config/settings.ts'
import type { Violation } from '../../../src/errors.ts'

function read(environment: Record<string, string>) {
  const problems: Violation[] = []
  const { tracing } = readEnvironment(environment, problems)
  return { tracing, problems: problems.map(({ path, message }) => `${path}: ${message}`) }
}

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }

test('tracing settings: none without an endpoint, or if disabled', (t) => {
  for (const environment of [
    {},
    { OTEL_SERVICE_NAME: 'name' },
    { ...ENDPOINT, OTEL_SDK_DISABLED: 'true' },
    { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: '' },
  ])
    t.deepEqual(read(environment), { tracing: null, problems: [] })
})

test('tracing settings: the common endpoint is a base, that of traces is complete', (t) => {
  t.deepEqual(read(ENDPOINT).tracing, {
    endpoint: 'http://collector:4318/v1/traces',
    serviceName: 'entrepot',
    sampler: 'parentbased_always_on',
    ratio: 1,
  })
  const { tracing } = read({ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://c.example/otlp/' })
  t.is(tracing?.endpoint, 'https://c.example/otlp/v1/traces')
  t.like(
    read({
      ...ENDPOINT,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://other/in',
      OTEL_SERVICE_NAME: 'eu',
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
    }).tracing,
    { endpoint: 'https://other/in', serviceName: 'eu', sampler: 'traceidratio', ratio: 0.25 },
  )
})

test('tracing settings: a malformed value is reported with its variable, URLs not repeated', (t) => {
  const { problems } = read({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://user:password@collector',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'collector:4317 secret',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_TRACES_SAMPLER: 'sometimes',
    OTEL_TRACES_SAMPLER_ARG: '2',
  })
  t.deepEqual(problems, [
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: expected an http or https URL',
    'OTEL_EXPORTER_OTLP_ENDPOINT: must not hold credentials; use OTEL_EXPORTER_OTLP_HEADERS',
    "OTEL_EXPORTER_OTLP_PROTOCOL: expected one of http/json, got 'grpc'",
    "OTEL_TRACES_SAMPLER: expected one of always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off, parentbased_traceidratio, got 'sometimes'",
    "OTEL_TRACES_SAMPLER_ARG: expected a number from 0 to 1, got '2'",
  ])
})
