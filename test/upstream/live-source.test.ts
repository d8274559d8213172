import { setImmediate } from 'node:timers/promises'
import test, { type ExecutionContext } from 'ava'
import type { Page } from '../../src/domain/page.ts'
import type { ListingQuery } from '../../src/domain/query.ts'
import { SourceError, type SourceReason } from '../../src/domain/source-error.ts'
import type { UpstreamOptions } from '../../src/domain/upstream.ts'
import { compileFilter } from '../../src/filter-spec/compile-filter.ts'
import { parseCriteria } from '../../src/filter-spec/parameters.ts'
import { createAgent } from '../../src/upstream/agent.ts'
import {
  type Behaviour,
  deadUrl,
  envelopeText,
  type FakeOptions,
  type FakeRegistry,
  listingText,
  listingTexts,
  startFakeRegistry,
} from '../helpers/fake-registry.ts'
import { liveSource } from '../helpers/live-source.ts'
import { listingQuery, upstreamOptions } from './upstream-options.ts'

type Ask = (query?: Partial<ListingQuery>, signal?: AbortSignal) => Promise<Page>

const askOf = (t: ExecutionContext, options: UpstreamOptions): Ask => {
  const agent = createAgent(options)
  t.teardown(() => agent.destroy())
  const source = liveSource(options, agent)
  return (query, signal = new AbortController().signal) => source(listingQuery(query), signal)
}

const upstreamOf = async (
  t: ExecutionContext,
  fake: FakeOptions,
  options: Partial<UpstreamOptions> = {},
): Promise<{ fake: FakeRegistry; ask: Ask }> => {
  const registry = await startFakeRegistry(fake)
  t.teardown(registry.close)
  return { fake: registry, ask: askOf(t, upstreamOptions({ url: registry.url, ...options })) }
}

const failure = async (t: ExecutionContext, answer: Promise<Page>): Promise<SourceError> =>
  (await t.throwsAsync(answer, { instanceOf: SourceError })) ?? t.fail()

const texts = (page: Page): string[] => page.items.map(({ bytes }) => Buffer.from(bytes).toString())
const ids = (page: Page): string[] => page.items.map(({ listingId }) => listingId)

const gpuModel = compileFilter({
  name: 'gpu_model',
  path: '$.offer_resource.gpu_model',
  op: 'in',
  value_type: 'string',
  alias_kind: null,
  on_missing: 'fail',
  indexed: false,
})
const spec = { filters: new Map([['gpu_model', gpuModel]]) }

const filtered = (value: string): Partial<ListingQuery> => ({
  filters: [['gpu_model', value]],
  criteria: parseCriteria(spec, [['gpu_model', value]]),
})

test('what an item says comes through to the byte', async (t) => {
  const odd =
    '{ "listing_id":"odd\\u002d1" ,"big":1180591620717411303424, "rate":99.0,"e":1E+2,"a":1,"a":2,' +
    '"text":"\\u00e9\\/é\u{1f680}","storefront_url":"http:\\/\\/s.example",\n"created_at":"2026-11-20T15:33:44+01:00", "status":"open" }'
  const { ask } = await upstreamOf(t, { items: [odd] })
  const page = await ask()
  t.deepEqual(texts(page), [odd])
  t.like(page.items[0], {
    listingId: 'odd-1',
    storefrontUrl: 'http://s.example',
    createdAt: Date.UTC(2026, 10, 20, 14, 33, 44) * 1000,
    publisher: null,
  })
})

test('only a `_meta` member of an item is lost, however it is spelled', async (t) => {
  const item = listingText()
  const claimed = item.replace('{', '{"\\u005fmeta":{"registry":"local","publisher":"0x1"}, ')
  const { ask } = await upstreamOf(t, { items: [claimed.replace(/}$/, ',"_meta":1}')] })
  t.deepEqual(texts(await ask()), [item])
})

for (const encoding of ['gzip', 'deflate', 'br'] as const) {
  test(`an answer in ${encoding} is read`, async (t) => {
    const { ask, fake } = await upstreamOf(t, {
      items: [listingText()],
      script: [{ kind: 'serve', encoding }],
    })
    t.is((await ask()).items.length, 1)
    t.is(fake.requests[0]?.headers['accept-encoding'], 'gzip, br')
  })
}

test('the query goes out as it came, to the path of the base URL, with the key', async (t) => {
  const { ask, fake } = await upstreamOf(t, { prefix: '/registry' }, { key: 'secret-key' })
  await ask({ publisher: '0xabc', filters: [['gpu_model', 'in:[H100,RTX 4090]']], offset: 3 })
  await ask({ status: null })
  const [first, second] = fake.requests
  t.is(first?.path, '/registry/listings')
  t.deepEqual(Object.fromEntries(first?.parameters ?? []), {
    status: 'open',
    publisher: '0xabc',
    gpu_model: 'in:[H100,RTX 4090]',
    limit: '200',
    offset: '0',
  })
  t.like(first?.headers, { accept: 'application/json', authorization: 'Bearer secret-key' })
  t.is(second?.parameters.get('status'), '')
})

test('a base URL with a trailing slash is the same base URL', async (t) => {
  const fake = await startFakeRegistry({ prefix: '/registry', items: [listingText()] })
  t.teardown(fake.close)
  t.is((await askOf(t, upstreamOptions({ url: `${fake.url}/` }))()).total, 1)
})

test('a page is cut from as many aligned pages of 200 as it needs, and connections are kept', async (t) => {
  const { ask, fake } = await upstreamOf(t, { items: listingTexts('a', 450) }, { maxInFlight: 1 })
  const page = await ask({ offset: 190, limit: 30 })
  t.deepEqual(ids(page), ids(await ask({ limit: 220 })).slice(190))
  t.is(page.total, 450)
  t.deepEqual(
    fake.requests.map(({ parameters }) => parameters.get('offset')),
    ['0', '200', '0', '200'],
  )
  t.is(fake.connections(), 1)
})

test('no more is asked for than the upstream says it has', async (t) => {
  const { ask, fake } = await upstreamOf(t, { items: listingTexts('a', 200) })
  const page = await ask({ limit: 2000 })
  t.is(page.items.length, 200)
  t.is(page.total, 200)
  t.is(fake.requests.length, 1)
})

test('an upstream with smaller pages is read whole', async (t) => {
  const { ask } = await upstreamOf(t, { items: listingTexts('a', 230), pageSize: 100 })
  t.deepEqual(ids(await ask({ limit: 300 })), ids(await ask({ limit: 230 })))
  t.is((await ask({ limit: 300 })).items.length, 230)
})

test('a later page that holds less than the upstream says it has is not taken for the end', async (t) => {
  const { ask } = await upstreamOf(t, {
    items: listingTexts('a', 450),
    script: [{ kind: 'serve' }, { kind: 'body', body: envelopeText(listingTexts('b', 10), 450) }],
  })
  t.is((await failure(t, ask({ limit: 300 }))).reason, 'bad_envelope')
})

test('a listing that comes by twice while the upstream changes is shown once', async (t) => {
  const items = listingTexts('a', 300)
  const { ask } = await upstreamOf(t, {
    items,
    script: [{ kind: 'serve' }, { kind: 'body', body: envelopeText(items.slice(199), 301) }],
  })
  t.deepEqual(
    ids(await ask({ limit: 400 })),
    items.map((item) => JSON.parse(item).listing_id),
  )
})

test('two publishers behind a gateway may use one id; one Registry has it once', async (t) => {
  const items = [1, 2].map((publisher_id) => listingText({ publisher_id }))
  const { ask: askGateway } = await upstreamOf(t, { items }, { kind: 'gateway' })
  t.is((await askGateway()).items.length, 2)
  const { ask: askRegistry } = await upstreamOf(t, { items })
  t.is((await askRegistry()).items.length, 1)
})

test('a prefix of any length is read, 200 listings at a time', async (t) => {
  const { ask, fake } = await upstreamOf(t, { items: listingTexts('a', 4000) })
  t.is((await ask({ limit: 3900 })).items.length, 3900)
  t.is(fake.requests.length, 20)
})

test('an upstream that claims to have no end is not believed further than it is read', async (t) => {
  const items = listingTexts('a', 200)
  const { ask } = await upstreamOf(t, {
    script: [
      { kind: 'body', body: envelopeText(items, Number.MAX_SAFE_INTEGER) },
      { kind: 'status', status: 500 },
    ],
  })
  t.is((await failure(t, ask({ limit: Number.MAX_SAFE_INTEGER }))).reason, 'http_500')
})

test('no more requests are out at once than max_in_flight', async (t) => {
  const held = Promise.withResolvers<void>()
  const { ask, fake } = await upstreamOf(
    t,
    { items: [listingText()], script: [{ kind: 'hold', until: held.promise }] },
    { maxInFlight: 2 },
  )
  const answers = Array.from({ length: 6 }, () => ask())
  await fake.requested(2)
  for (let turn = 0; turn < 20; turn++) await setImmediate()
  held.resolve()
  await Promise.all(answers)
  t.is(fake.requests.length, 6)
  t.is(fake.mostInFlight(), 2)
})

test('listings of one instant come in the order of their ids, whatever order they were sent in', async (t) => {
  const { ask } = await upstreamOf(t, {
    items: ['b', 'a', 'c'].map((id) => listingText({ listing_id: id })),
  })
  t.deepEqual(ids(await ask()), ['a', 'b', 'c'])
})

test('every filter and the status are evaluated again here, and reading goes on until the page is full', async (t) => {
  const items = listingTexts('a', 600).map((item, n) =>
    n % 10 === 0 ? item : n % 10 === 1 ? item.replace('"open"', '"closed"') : item.replace('H100', 'A100'),
  )
  const { ask, fake } = await upstreamOf(t, { items, matches: () => true })
  const page = await ask({ ...filtered('H100'), limit: 30 })
  t.is(page.items.length, 30)
  t.true(ids(page).every((id) => id.endsWith('0')))
  t.is(fake.requests.length, 2)
  t.is(page.total, 600 - 400 + 40)
  t.is((await ask({ ...filtered('H100'), limit: 200 })).total, 60)
})

test('an upstream that ignores filters is left out rather than shown short', async (t) => {
  const { ask } = await upstreamOf(
    t,
    { items: listingTexts('a', 1000), matches: () => true },
    { scanLimit: 400 },
  )
  const error = await failure(t, ask({ ...filtered('nothing'), limit: 10 }))
  t.is(error.reason, 'scan_limit')
  t.deepEqual(error.filters, ['gpu_model'])
})

test('a 400 about filters is missing capability, and names those that it is about', async (t) => {
  const refuse = (detail: string): Behaviour => ({
    kind: 'status',
    status: 400,
    body: JSON.stringify({ detail }),
  })
  const query: Partial<ListingQuery> = {
    filters: [
      ['gpu_model', 'H100'],
      ['min_gpu', '2'],
      ['strict.region', 'true'],
    ],
  }
  for (const [detail, filters] of [
    ["unknown filter: 'min_gpu'", ['min_gpu']],
    ["gpu_model: expected integer, got 'H100'", ['gpu_model']],
    ['strict.region: unknown filter', ['region']],
    ['no', ['gpu_model', 'min_gpu', 'region']],
  ] as const) {
    const { ask } = await upstreamOf(t, { script: [refuse(detail)] })
    const error = await failure(t, ask(query))
    t.is(error.reason, 'unsupported_filter')
    t.deepEqual(error.filters, filters)
  }
  const { ask } = await upstreamOf(t, { script: [refuse('no')] })
  t.is((await failure(t, ask())).reason, 'http_400')
})

test('bad items are dropped and counted, and spoil nothing else', async (t) => {
  const good = listingText({ listing_id: 'good' })
  const bad = [
    '7',
    'null',
    '[]',
    '"x"',
    '{}',
    listingText({ listing_id: '' }),
    listingText({ listing_id: 7 }),
    listingText({ listing_id: 'x'.repeat(201) }),
    listingText({ listing_id: 'a\u001b[2J' }),
    listingText({ listing_id: 'a\r\nb' }),
    listingText({ listing_id: '\ud800' }),
    listingText({ created_at: 'yesterday' }),
    listingText({ created_at: null }),
    listingText({ demands: JSON.parse('['.repeat(40) + ']'.repeat(40)) }),
    listingText({ demands: ['x'.repeat(70_000)] }),
  ]
  const { ask } = await upstreamOf(t, { script: [{ kind: 'body', body: envelopeText([...bad, good], 99) }] })
  t.is((await failure(t, ask())).reason, 'bad_envelope')
  const { ask: askWhole } = await upstreamOf(t, {
    script: [{ kind: 'body', body: envelopeText([...bad, good], bad.length + 1) }],
  })
  const page = await askWhole()
  t.deepEqual(texts(page), [good])
  t.is(page.total, 1)
  t.is(page.invalid, bad.length)
})

const HTML = '<!doctype html><title>It works!</title>'
const BOMB = 50 * 1024 * 1024

const FAULTS: readonly (readonly [name: string, behaviour: Behaviour, reason: SourceReason])[] = [
  ['nothing at all', { kind: 'hang' }, 'timeout'],
  ['half a body and then nothing', { kind: 'hang_mid_body' }, 'timeout'],
  ['a slow drip', { kind: 'drip', everyMs: 20 }, 'timeout'],
  ['an answer after the timeout', { kind: 'delay', ms: 400 }, 'timeout'],
  ['a reset before the headers', { kind: 'reset_before_headers' }, 'connection_reset'],
  ['a reset amid the body', { kind: 'reset_mid_body' }, 'connection_reset'],
  ['an end amid the body', { kind: 'end_mid_body' }, 'connection_reset'],
  ['another protocol', { kind: 'babble' }, 'bad_envelope'],
  ['HTML', { kind: 'body', body: HTML, headers: { 'content-type': 'text/html' } }, 'not_json'],
  ['an empty body', { kind: 'body', body: '' }, 'not_json'],
  [
    'half a JSON document',
    { kind: 'body', body: envelopeText([listingText()], 1).slice(0, -60) },
    'not_json',
  ],
  ['JSON cut in an item', { kind: 'body', body: envelopeText([listingText()], 1).slice(0, 90) }, 'not_json'],
  ['JSON with more behind', { kind: 'body', body: `${envelopeText([], 0)}]` }, 'not_json'],
  ['items without commas', { kind: 'body', body: envelopeText(['{} {}'], 2) }, 'not_json'],
  ['an item that is no JSON', { kind: 'body', body: envelopeText(['{"a":NaN}'], 1) }, 'not_json'],
  [
    'bytes that are not UTF-8',
    { kind: 'body', body: Buffer.from(envelopeText(['"\xff"'], 1), 'latin1') },
    'not_json',
  ],
  ['an array', { kind: 'body', body: '[]' }, 'bad_envelope'],
  ['an array of listings', { kind: 'body', body: `[${listingText()}]` }, 'bad_envelope'],
  ['null', { kind: 'body', body: 'null' }, 'bad_envelope'],
  ['another envelope', { kind: 'body', body: '{"listings":[]}' }, 'bad_envelope'],
  ['items of a wrong type', { kind: 'body', body: '{"items":{},"total_after_filter":0}' }, 'bad_envelope'],
  ['no item that could be a listing', { kind: 'body', body: envelopeText(['7', '{}'], 2) }, 'bad_envelope'],
  ['no total', { kind: 'body', body: '{"items":[]}' }, 'bad_envelope'],
  [
    'a total of a wrong type',
    { kind: 'body', body: '{"items":[],"total_after_filter":"7"}' },
    'bad_envelope',
  ],
  ['a negative total', { kind: 'body', body: '{"items":[],"total_after_filter":-1}' }, 'bad_envelope'],
  ['one item a page', { kind: 'body', body: envelopeText([listingText()], 300) }, 'bad_envelope'],
  ['a total without items', { kind: 'body', body: envelopeText([], 7) }, 'bad_envelope'],
  [
    'more items than asked for',
    { kind: 'body', body: envelopeText(listingTexts('a', 201), 201) },
    'bad_envelope',
  ],
  [
    'a nest around the items',
    { kind: 'body', body: `{"items":[],"total_after_filter":0,"x":${'['.repeat(100)}${']'.repeat(100)}}` },
    'bad_envelope',
  ],
  ['the same page for ever', { kind: 'same_page', total: 100_000 }, 'bad_envelope'],
  ['8 MiB of nesting', { kind: 'body', body: `{"x":${'['.repeat(4e6)}${']'.repeat(4e6)}}` }, 'bad_envelope'],
  ['a 50 MB body', { kind: 'huge', bytes: BOMB }, 'too_large'],
  ['a decompression bomb', { kind: 'gzip_bomb', bytes: BOMB }, 'too_large'],
  ['an encoding nobody asked for', { kind: 'serve', encoding: 'zebra' }, 'not_json'],
  [
    'plain text that says gzip',
    { kind: 'body', body: HTML, headers: { 'content-encoding': 'gzip' } },
    'not_json',
  ],
  ['a redirect', { kind: 'status', status: 302, headers: { location: 'http://127.0.0.1:1/' } }, 'http_302'],
  ['a 204', { kind: 'status', status: 204, body: '' }, 'http_204'],
  ['a 401', { kind: 'status', status: 401 }, 'unauthorized'],
  ['a 403', { kind: 'status', status: 403 }, 'unauthorized'],
  ['a 404', { kind: 'status', status: 404 }, 'http_404'],
  ['a 412', { kind: 'status', status: 412 }, 'http_412'],
  ['a 429', { kind: 'status', status: 429, headers: { 'retry-after': '1' } }, 'rate_limited'],
  ['a 500', { kind: 'status', status: 500 }, 'http_500'],
  ['a 503', { kind: 'status', status: 503 }, 'http_503'],
]

for (const [name, behaviour, reason] of FAULTS) {
  test.serial(`${name} is ${reason}, the key is not told, and the next answer is read`, async (t) => {
    const { ask, fake } = await upstreamOf(
      t,
      { items: listingTexts('a', 300), script: [behaviour] },
      { key: 'secret-key', timeoutMs: reason === 'timeout' ? 150 : 10_000 },
    )
    const started = performance.now()
    const error = await failure(t, ask({ limit: 250 }))
    t.is(error.reason, reason)
    if (reason === 'timeout') t.true(performance.now() - started < 1500)
    t.notRegex(JSON.stringify([error.message, error.stack, String(error.cause)]), /secret-key/)
    fake.script = [{ kind: 'serve' }]
    t.is((await ask({ limit: 250 })).items.length, 250)
  })
}

test('nobody listening is connection_refused, an unknown name is dns, no TLS is tls', async (t) => {
  const dead = askOf(t, upstreamOptions({ url: await deadUrl() }))
  t.is((await failure(t, dead())).reason, 'connection_refused')
  const nowhere = askOf(t, upstreamOptions({ url: 'http://no-such-host.invalid' }))
  t.is((await failure(t, nowhere())).reason, 'dns')
  const { fake } = await upstreamOf(t, {})
  const plain = askOf(t, upstreamOptions({ url: fake.url.replace('http:', 'https:') }))
  t.is((await failure(t, plain())).reason, 'tls')
})

test('a redirect is not followed, and the key goes nowhere else', async (t) => {
  const other = await startFakeRegistry({ items: [listingText()] })
  t.teardown(other.close)
  const { ask } = await upstreamOf(
    t,
    { script: [{ kind: 'status', status: 307, headers: { location: `${other.url}/listings` } }] },
    { key: 'secret-key' },
  )
  t.is((await failure(t, ask())).reason, 'http_307')
  t.is(other.connections(), 0)
})

test('a private address is never connected to unless that is allowed, be it literal or behind a name', async (t) => {
  const fake = await startFakeRegistry({ items: [listingText()] })
  t.teardown(fake.close)
  const { port } = new URL(fake.url)
  for (const host of ['127.0.0.1', 'localhost', '0x7f.1', '[::ffff:127.0.0.1]', '[::1]', '0.0.0.0']) {
    const url = `http://${host}:${port}`
    const error = await failure(t, askOf(t, upstreamOptions({ url, allowPrivateAddresses: false }))())
    t.is(error.reason, 'connection_refused', host)
    t.regex(error.message, /allow_private_addresses/, host)
  }
  t.is(fake.connections(), 0)
  t.is((await askOf(t, upstreamOptions({ url: `http://localhost:${port}` }))()).total, 1)
})

test('a caller who gives up is told at once, and fails nobody else', async (t) => {
  const { ask, fake } = await upstreamOf(
    t,
    { items: [listingText()], script: [{ kind: 'hang' }, { kind: 'serve' }] },
    { maxInFlight: 1, timeoutMs: 60_000 },
  )
  const hangUp = new AbortController()
  const first = ask({}, hangUp.signal)
  const second = ask()
  const reason = new Error('gone')
  await fake.requested()
  hangUp.abort(reason)
  t.is(await t.throwsAsync(first), reason)
  t.is((await second).total, 1)
  await t.throwsAsync(ask({}, AbortSignal.abort(reason)), { message: 'gone' })
})
