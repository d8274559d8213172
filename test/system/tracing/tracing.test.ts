import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { promisify } from 'node:util'
import { ROOT_CONTEXT, SpanKind, TraceFlags, trace } from '@opentelemetry/api'
import { SamplingDecision } from '@opentelemetry/sdk-trace-base'
import type { ExecutionContext } from 'ava'
import test from 'ava'
import type { TraceSampler } from '../../../src/config/settings.ts'
import { createLogger } from '../../../src/log.ts'
import { createSampler, MAX_SPANS } from '../../../src/tracing/tracer.ts'
import { type Collector, type ReceivedSpan, startCollector } from '../../helpers/collector.ts'
import { eventually } from '../../helpers/eventually.ts'
import { listingTexts } from '../../helpers/fake-registry.ts'
import { startFake, startGateway, type UpstreamEntry } from '../../helpers/gateway.ts'
import { listen } from '../../helpers/listen.ts'
import { closable, send } from '../../helpers/registry.ts'
import { temporaryFile } from '../../helpers/run-cli.ts'
import { startProcess } from '../../helpers/service-process.ts'

/** Spans are sent in batches, by default every 5 s. */
process.env.OTEL_BSP_SCHEDULE_DELAY = '100'

const ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const OTHER = 'f'.repeat(32)
const PARENT = '00f067aa0ba902b7'
const TRACEPARENT = `00-${ID}-${PARENT}-01`
const SERVER = 2
const CLIENT = 3

/** A gateway over these upstreams; what it has recorded is sent when it ends. */
async function serve(
  t: ExecutionContext,
  upstreams: readonly UpstreamEntry[],
  environment: Record<string, string>,
) {
  const logged: string[] = []
  const log = createLogger('silent')
  for (const level of ['debug', 'info', 'warn', 'error'] as const)
    log[level] = (about: unknown, message?: string) => void logged.push(`${JSON.stringify(about)} ${message}`)
  log.isLevelEnabled = () => true
  const owner = closable(t)
  const service = await startGateway(owner, upstreams, { log, environment })
  return { ...service, end: owner.close, logged }
}

const recordedTo = ({ url }: Collector) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_SERVICE_NAME: 'market',
  REGISTRY_ADMIN_API_KEY: 'the-admin-secret',
  CURATED_KEY: 'the-curated-secret',
})

function named(spans: readonly ReceivedSpan[], name: string): ReceivedSpan {
  const found = spans.filter((span) => span.name === name)
  if (found.length !== 1)
    throw new Error(`${found.length} spans ${name} of ${spans.map((span) => span.name)}`)
  return found[0]!
}

test("tracing: a request's spans hold its calls to upstreams", async (t) => {
  const collector = await startCollector(t)
  const one = await startFake(t, { items: listingTexts('one', 3) })
  const bad = await startFake(t, { script: [{ kind: 'status', status: 500 }] })
  const { get, end, logged } = await serve(
    t,
    [
      { name: 'one', url: one.url, settings: 'api_key_env = "CURATED_KEY"' },
      { name: 'bad', url: bad.url },
    ],
    recordedTo(collector),
  )
  const { status } = await get('/listings?limit=3&a-private-wish=', {
    traceparent: TRACEPARENT,
    tracestate: 'vendor=opaque',
    authorization: 'Bearer a-reader-secret',
  })
  t.is(status, 200)
  const traced = { traceparent: `00-${OTHER}-${PARENT}-01`, tracestate: 'vendor=opaque' }
  await get('/listings/elsewhere', traced)
  await end()
  const of = (id: string) => collector.spans.filter(({ traceId }) => traceId === id)
  const [spans, looked] = [of(ID), of(OTHER)]
  t.is(spans.length + looked.length, collector.spans.length)
  const request = named(spans, 'GET /listings')
  t.like(request, { parentSpanId: PARENT, kind: SERVER, status: 0 })
  t.like(request.attributes, {
    'http.request.method': 'GET',
    'http.route': '/listings',
    'http.response.status_code': 200,
    'url.path': '/listings',
    'url.scheme': 'http',
  })
  // The index answers, without a call.
  t.is(spans.length, 1)

  // A listing that is not held is looked up.
  const asked = named(looked, 'GET /listings/:id')
  const call = looked.find(({ attributes }) => attributes['url.full'] === `${one.url}/listings/elsewhere`)
  t.like(call, { kind: CLIENT, parentSpanId: asked.spanId })
  t.like(call?.attributes, {
    'http.request.method': 'GET',
    'http.response.status_code': 404,
    'server.address': '127.0.0.1',
    'server.port': Number(new URL(one.url).port),
    'url.full': `${one.url}/listings/elsewhere`,
  })
  t.like(one.requests.at(-1)?.headers, {
    traceparent: `00-${OTHER}-${call?.spanId}-01`,
    tracestate: 'vendor=opaque',
  })
  t.is(collector.resources[0]?.['service.name'], 'market')
  t.true(logged.some((line) => line.includes(`"traceId":"${ID}"`) && line.endsWith(' request')))
  const sent = collector.bodies.join('')
  for (const secret of ['a-private-wish', 'a-reader-secret', 'the-curated-secret', 'the-admin-secret'])
    t.false(sent.includes(secret), secret)
})

test('tracing: each request has a span, without the path of one that has no route', async (t) => {
  const collector = await startCollector(t)
  const { get, end } = await serve(t, [], recordedTo(collector))
  for (let n = 0; n < 3; n++) await get('/listings')
  await get('/nowhere/a-secret-path?key=secret')
  await end()
  const roots = collector.spans.filter(({ parentSpanId }) => parentSpanId === '')
  t.deepEqual(roots.map(({ name }) => name).sort(), ['GET', ...Array(3).fill('GET /listings')])
})

test('tracing: the URL of a proxy request has no credentials in its span', async (t) => {
  const collector = await startCollector(t)
  const { url, end } = await serve(t, [], recordedTo(collector))
  const path = 'http://user:secret@seller.example/x?key=secret'
  await once(request(url, { path }).end(), 'response')
  await end()
  t.is(collector.spans[0]?.attributes['url.path'], 'http://…@seller.example/x')
})

test("tracing: the caller's sampling decision applies and is passed on", async (t) => {
  const collector = await startCollector(t)
  const fake = await startFake(t, { items: listingTexts('one', 3) })
  const { get, end } = await serve(t, [{ name: 'one', url: fake.url }], recordedTo(collector))
  await get('/listings', { traceparent: 'nonsense' })
  await get('/listings/elsewhere', { traceparent: `00-${ID}-${PARENT}-00` })
  await end()
  t.regex(String(fake.requests.at(-1)?.headers.traceparent), new RegExp(`^00-${ID}-[0-9a-f]{16}-00$`))
  t.true(collector.spans.every(({ traceId }) => traceId !== ID))
  t.is(named(collector.spans, 'GET /listings').parentSpanId, '')
})

test('tracing: cursor pages and streams are recorded without a warning', async (t) => {
  const warnings: string[] = []
  const note = ({ name }: Error): void => void warnings.push(name)
  process.on('warning', note)
  t.teardown(() => process.off('warning', note))
  const collector = await startCollector(t)
  const fake = await startFake(t, { items: listingTexts('one', 30) })
  const { get, end } = await serve(t, [{ name: 'one', url: fake.url }], recordedTo(collector))
  const { next_cursor: cursor } = (await get('/listings?limit=10')).json()
  await get(`/listings?limit=10&cursor=${cursor}`, { traceparent: `00-${ID}-${PARENT}-01` })
  await get('/listings', { accept: 'application/x-ndjson', traceparent: `00-${OTHER}-${PARENT}-01` })
  await end()
  for (const trace of [ID, OTHER]) {
    const names = collector.spans.filter(({ traceId }) => traceId === trace).map(({ name }) => name)
    t.deepEqual(names, ['GET /listings'], trace)
  }
  t.false(warnings.includes('MaxListenersExceededWarning'))
})

test("tracing: an agent's tool call is recorded under its request", async (t) => {
  const collector = await startCollector(t)
  const fake = await startFake(t, { items: listingTexts('one', 3) })
  const { url, end } = await serve(t, [{ name: 'one', url: fake.url }], recordedTo(collector))
  const call = { name: 'get_listing', arguments: { listing_id: 'elsewhere' } }
  const { status, text } = await send(`${url}/mcp`, {
    method: 'POST',
    headers: {
      traceparent: TRACEPARENT,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-11-25',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }),
  })
  t.is(status, 200, text)
  await end()
  const request = named(collector.spans, 'POST /mcp')
  const isCall = ({ kind }: (typeof collector.spans)[number]) => kind === CLIENT
  t.like(collector.spans.find(isCall), { traceId: ID, parentSpanId: request.spanId })
})

test('tracing: spans are exported before exit, with headers of the environment', async (t) => {
  const collector = await startCollector(t)
  const service = await startProcess('sqlite::memory:', {
    ENTREPOT_CONFIG: temporaryFile(t, 'gateway.toml', ''),
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces`,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=the-collector-secret',
  })
  t.is((await send(`${service.url}/health`)).status, 200)
  t.is(await service.end('SIGTERM'), 0)
  t.is(named(collector.spans, 'GET /health').attributes['http.response.status_code'], 200)
  t.is(collector.headers[0]?.['x-tenant'], 'the-collector-secret')
  t.is(collector.resources[0]?.['service.name'], 'entrepot')
})

test('tracing: without a collector no tracing library is loaded', async (t) => {
  const start = async (environment: Record<string, string>): Promise<string[]> => {
    const { stdout } = await promisify(execFile)(process.execPath, ['test/system/tracing/start-once.ts'], {
      env: { ...process.env, LOG_LEVEL: 'silent', ...environment },
    })
    return JSON.parse(stdout)
  }
  t.deepEqual(await start({}), ['@opentelemetry/api'], 'its words, which prom-client loads')
  t.true((await start({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' })).length > 3)
})

test('tracing: a request records at most MAX_SPANS spans', async (t) => {
  const collector = await startCollector(t)
  const { url } = await startFake(t, { items: listingTexts('one', 1) })
  const upstreams = Array.from({ length: MAX_SPANS + 1 }, (_, n) => ({ name: `u${n}`, url }))
  const { get, end } = await serve(t, upstreams, recordedTo(collector))
  await get('/listings/elsewhere')
  await end()
  t.is(collector.spans.length, MAX_SPANS)
})

test('tracing: without a collector a valid trace is passed on, a malformed one dropped', async (t) => {
  const fake = await startFake(t, { items: listingTexts('one', 3) })
  const { get, logged } = await serve(t, [{ name: 'one', url: fake.url }], {})
  await get('/listings/a', { traceparent: TRACEPARENT, tracestate: 'a=1' })
  await get('/listings/b', { traceparent: TRACEPARENT })
  await get('/listings/c', { traceparent: '00-nonsense-01', tracestate: 'a=1' })
  const lookUps = fake.requests.filter(({ path }) => path !== '/listings')
  t.deepEqual(
    lookUps.map(({ headers }) => [headers.traceparent, headers.tracestate]),
    [
      [TRACEPARENT, 'a=1'],
      [TRACEPARENT, undefined],
      [undefined, undefined],
    ],
  )
  t.is(logged.filter((line) => line.includes(ID)).length, 2)
})

test('tracing: a failing and a recovered collector are each logged once', async (t) => {
  const collector = await startCollector(t)
  collector.statuses = [400, 200]
  const { get, end, logged } = await serve(t, [], {
    ...recordedTo(collector),
  })
  t.is((await get('/listings')).status, 200)
  await eventually('logged', () => logged.some((line) => line.endsWith('trace export failed')))
  t.is((await get('/listings')).status, 200)
  await end()
  const lines = logged.filter((line) => line.includes('trace export'))
  t.is(lines.length, 2)
  t.regex(lines[1] ?? '', /trace export recovered$/)
})

test('tracing: the service stops although the collector hangs', async (t) => {
  t.timeout(600_000)
  const url = await listen(t, () => {})
  const { get, end } = await serve(t, [], { OTEL_EXPORTER_OTLP_ENDPOINT: url })
  await get('/listings')
  await t.notThrowsAsync(end())
})

type Caller = 'sampled' | 'unsampled' | null

/** Whether a trace is recorded whose caller has decided so or not at all. */
function isRecorded(name: TraceSampler, ratio: number, caller: Caller): boolean {
  const traceFlags = caller === 'sampled' ? TraceFlags.SAMPLED : TraceFlags.NONE
  const remote = { traceId: ID, spanId: PARENT, traceFlags, isRemote: true }
  const context = caller === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remote)
  const { decision } = createSampler(name, ratio).shouldSample(context, ID, 'GET', SpanKind.SERVER, {}, [])
  return decision === SamplingDecision.RECORD_AND_SAMPLED
}

/** In turn: of a caller that has recorded, of one that has not, and of none. */
const SAMPLERS: readonly (readonly [TraceSampler, ratio: number, recorded: readonly boolean[]])[] = [
  ['always_on', 0, [true, true, true]],
  ['always_off', 1, [false, false, false]],
  ['traceidratio', 0, [false, false, false]],
  ['traceidratio', 1, [true, true, true]],
  ['parentbased_always_on', 0, [true, false, true]],
  ['parentbased_always_off', 1, [true, false, false]],
  ['parentbased_traceidratio', 0, [true, false, false]],
  ['parentbased_traceidratio', 1, [true, false, true]],
]

test('sampler: each records what its name states', (t) => {
  for (const [name, ratio, recorded] of SAMPLERS)
    t.deepEqual(
      (['sampled', 'unsampled', null] as const).map((caller) => isRecorded(name, ratio, caller)),
      recorded,
      `${name} ${ratio}`,
    )
})
