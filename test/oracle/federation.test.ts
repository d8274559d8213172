import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import test, { type ExecutionContext } from 'ava'
import { envelopeText, type FakeRegistry, listingText, listingTexts } from '../helpers/fake-registry.ts'
import { startFake, startGateway, startPatientGateway } from '../helpers/gateway.ts'
import { manualClock } from '../helpers/manual-clock.ts'
import type { RunningService } from '../helpers/registry.ts'
import { ALICE, publish } from '../helpers/seller.ts'
import { idsOf, type ReadPage, readPage, streamAll, walkAll } from './read-all.ts'

const WALLET = '0xae72a48c1a36bd18af168541c53037965d26e4a8'

function idsIn(items: readonly string[]): string[] {
  return items.map((text) => JSON.parse(text).listing_id)
}

function remove(fake: FakeRegistry, listingId: string): void {
  fake.items.splice(idsIn(fake.items).indexOf(listingId), 1)
}

/** A Registry that answers as `answer` says; `null` never answers. Its listings are `items`, newest first. */
async function startOdd(
  t: ExecutionContext,
  answer: (url: URL, serve: () => string) => { status: number; body: string } | null,
  items: readonly string[] = [],
): Promise<{ url: string; requests: string[] }> {
  const requests: string[] = []
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://odd')
    requests.push(url.pathname)
    const reply = answer(url, () => pageOf(items, url.searchParams))
    if (reply !== null) respond(response, reply.status, reply.body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

function pageOf(items: readonly string[], parameters: URLSearchParams): string {
  const offset = Number(parameters.get('offset') ?? 0)
  return envelopeText(items.slice(offset, offset + Number(parameters.get('limit') ?? 50)), items.length)
}

function respond(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(body)
}

const NOT_FOUND = { status: 404, body: '{"detail":"Not Found"}' }
const BROKEN = { status: 500, body: '{"detail":"Internal Server Error"}' }

async function whenPulled(service: RunningService, listings: number): Promise<void> {
  for (;;) {
    const { sources } = (await service.get('/sources')).json() as { sources: { listings: number }[] }
    if (sources.some((source) => source.listings === listings)) return
    await setImmediate()
  }
}

test('a page over cached and new data shows every listing that was there all the time', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 400) })
  const service = await startPatientGateway(t, [{ name: 'a', url: fake.url }])
  await readPage(service, 'limit=50')
  remove(fake, 'a-0005')
  const ids = idsOf(await readPage(service, 'offset=100&limit=200'))
  t.is(ids.length, 200)
  t.deepEqual(
    ids,
    idsIn(listingTexts('a', 400))
      .slice(Number(ids[0]!.slice(2)))
      .slice(0, 200),
  )
})

test('a filter that the upstream lacks is evaluated over all of its listings after a deletion', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 400) })
  const service = await startPatientGateway(t, [{ name: 'a', url: fake.url }])
  await readPage(service, 'limit=50')
  remove(fake, 'a-0005')
  for (const offset of [0, 200]) {
    const ids = idsOf(await readPage(service, `gpu_model=H100&limit=200&offset=${offset}`))
    for (let n = Math.max(offset, 6); n < offset + 199; n++)
      t.true(ids.includes(`a-${String(n).padStart(4, '0')}`), `a-${n} is missing`)
  }
})

for (const kind of ['stream', 'walk'] as const)
  test(`a ${kind} is whole after a deletion behind a cached page`, async (t) => {
    const fake = await startFake(t, { items: listingTexts('a', 600) })
    const service = await startPatientGateway(t, [{ name: 'a', url: fake.url }])
    await readPage(service, 'limit=50')
    remove(fake, 'a-0100')
    const ids = kind === 'stream' ? await streamAll(service) : await walkAll(service, 'limit=50')
    for (const id of idsIn(fake.items)) t.true(ids.includes(id), `${id} is missing`)
  })

test('a stream is complete after a publish and a refresh of its first page', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 600) })
  const service = await startPatientGateway(t, [{ name: 'a', url: fake.url }])
  await streamAll(service)
  fake.items.unshift(listingText({ listing_id: 'new', created_at: '2026-11-20T00:00:01' }))
  await service.get('/listings', { 'cache-control': 'no-cache' })
  const ids = await streamAll(service)
  for (const id of idsIn(listingTexts('a', 600))) t.true(ids.includes(id), `${id} is missing`)
})

type Shown = {
  listing_id: string
  storefront_url: string
  _meta: { registry: string; also_in: string[]; disputed?: string[]; position?: string }
}

/** `other` has a newer row of a listing of `trusted`, under the same wallet, with a storefront of its own. */
async function startShadow(t: ExecutionContext, count: number): Promise<RunningService> {
  const publishers = [[1, WALLET]] as const
  const trusted = await startFake(t, { items: listingTexts('a', count), publishers })
  const row = {
    listing_id: 'a-0040',
    storefront_url: 'http://evil.example/',
    created_at: '2026-11-20T00:01:00',
  }
  const other = await startFake(t, { items: [listingText(row)], publishers })
  return startPatientGateway(t, [
    { name: 'trusted', url: trusted.url, settings: 'priority = 1' },
    { name: 'other', url: other.url, settings: 'priority = 9' },
  ])
}

test('a row under a wallet of a better Registry is marked as disputed', async (t) => {
  const service = await startShadow(t, 300)
  const { items } = (await service.get('/listings?limit=20')).json() as { items: Shown[] }
  t.like(items[0], { listing_id: 'a-0040', _meta: { registry: 'other', disputed: ['trusted'] } })
})

test('a listing is shown by the best copy that was read, where its newest copy is', async (t) => {
  const service = await startShadow(t, 300)
  const { items } = (await service.get('/listings?limit=60')).json() as { items: Shown[] }
  t.like(items[0], {
    listing_id: 'a-0040',
    storefront_url: 'http://storefront.example/',
    _meta: { registry: 'trusted', also_in: ['other'], position: '2026-11-20T00:01:00.000000' },
  })
  t.is(items.filter(({ listing_id }) => listing_id === 'a-0040').length, 1)
})

for (const limit of [50, 100, 200])
  test(`pages of ${limit} by offset show each listing once where ten are copied to another Registry`, async (t) => {
    const items = listingTexts('a', 300)
    const ra = await startFake(t, { items })
    const copies = items.slice(-10).map((text, n) => {
      const created_at = `2026-11-20T00:00:${String(20 - n).padStart(2, '0')}`
      return JSON.stringify({ ...JSON.parse(text), created_at })
    })
    const rb = await startFake(t, { items: copies })
    const service = await startPatientGateway(t, [
      { name: 'ra', url: ra.url },
      { name: 'rb', url: rb.url },
    ])
    const pages: ReadPage[] = []
    for (let offset = 0; offset < 300; offset += limit)
      pages.push(await readPage(service, `limit=${limit}&offset=${offset}`))
    const ids = pages.flatMap(idsOf)
    t.is(ids.length, 300)
    t.deepEqual(ids.toSorted(), idsIn(items).toSorted())
  })

for (const mode of ['live', 'snapshot'] as const)
  test(`oversized listings of one seller leave other sellers' listings visible, ${mode}`, async (t) => {
    const blob = { gpu_model: 'H100', notes: 'x'.repeat(250_000) }
    const huge = listingTexts('huge', 40, { offer_resource: blob, created_at: '2026-11-20T00:01:00' })
    const fake = await startFake(t, { items: [...huge, ...listingTexts('a', 300)] })
    const service = await startPatientGateway(t, [{ name: 'a', url: fake.url, settings: `mode = "${mode}"` }])
    if (mode === 'snapshot') await whenPulled(service, 300)
    const page = await readPage(service, 'limit=200')
    t.deepEqual(idsOf(page), idsIn(listingTexts('a', 200)))
    t.like(page.sources[1], { registry: 'a', state: 'loaded', invalid: 40 })
    const ids = await streamAll(service)
    t.deepEqual(ids, idsIn(listingTexts('a', 300)))
  })

const GPU_MODEL = { name: 'gpu_model', path: '$.offer_resource.gpu_model', op: 'in', value_type: 'string' }
const SPEC = { filters: [{ ...GPU_MODEL, on_missing: 'fail' }], etag: 'e' }

test('a filter that makes a Registry answer 500 is evaluated in the gateway', async (t) => {
  const items = listingTexts('a', 120)
  const odd = await startOdd(
    t,
    ({ pathname, searchParams }, serve) => {
      if (pathname === '/filter-spec') return { status: 200, body: JSON.stringify(SPEC) }
      if (pathname !== '/listings') return NOT_FOUND
      return searchParams.has('gpu_model') ? BROKEN : { status: 200, body: serve() }
    },
    items.with(
      5,
      listingText({ listing_id: 'array', offer_resource: { gpu_model: ['H100'] } }).replace('15:33', '00:00'),
    ),
  )
  const service = await startPatientGateway(t, [{ name: 'a', url: odd.url }])
  const page = await readPage(service, 'gpu_model=H100&limit=200')
  t.deepEqual(idsOf(page).toSorted(), idsIn(items.toSpliced(5, 1)))
})

test('a row that makes a Registry answer 500 hides no other row', async (t) => {
  const items = listingTexts('a', 300)
  const odd = await startOdd(
    t,
    ({ pathname }, serve) => {
      if (pathname !== '/listings') return NOT_FOUND
      const body = serve()
      return body.includes('"a-0123"') ? BROKEN : { status: 200, body }
    },
    items,
  )
  const service = await startPatientGateway(t, [{ name: 'a', url: odd.url }])
  const page = await readPage(service, 'limit=200')
  t.deepEqual(idsOf(page), idsIn(items.toSpliced(123, 1)).slice(0, 200))
  t.deepEqual(await streamAll(service), idsIn(items.toSpliced(123, 1)))
  t.true(odd.requests.length < 150, `${odd.requests.length} requests`)
})

test('a restarted gateway answers a revalidation with a new cursor', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 120) })
  const before = await startPatientGateway(t, [{ name: 'a', url: fake.url }])
  const after = await startPatientGateway(t, [{ name: 'a', url: fake.url }])
  const { headers } = await before.get('/listings?limit=50')
  const again = await after.get('/listings?limit=50', { 'if-none-match': headers.get('etag')! })
  t.is(again.status, 200)
  const { next_cursor } = again.json() as ReadPage
  t.is((await readPage(after, `limit=50&cursor=${next_cursor}`)).items.length, 50)
})

test('a cursor that is given out after an hour without a change is valid', async (t) => {
  const clock = manualClock()
  const fake = await startFake(t)
  const service = await startPatientGateway(t, [{ name: 'a', url: fake.url }], { clock })
  for (let n = 0; n < 12; n++) {
    const fields = { listing_id: `l-${n}`, storefront_url: 'http://storefront.example/', offer_resource: {} }
    t.is((await publish(service.url, ALICE, fields)).status, 201)
  }
  const query = 'sources=local&limit=10'
  await readPage(service, query)
  clock.advance(61 * 60_000)
  const { next_cursor } = await readPage(service, query)
  t.is((await readPage(service, `${query}&cursor=${next_cursor}`)).items.length, 2)
})

const LARGE = 3000

async function startNested(t: ExecutionContext, settings: string): Promise<RunningService> {
  const fake = await startFake(t, { items: listingTexts('a', LARGE), filterSpec: SPEC })
  const inner = await startPatientGateway(t, [{ name: 'a', url: fake.url }], { more: 'id = "inner"' })
  return startPatientGateway(t, [
    { name: 'inner', url: inner.url, settings: `kind = "gateway"\n${settings}` },
  ])
}

test('a gateway over a gateway shows more than 2,000 listings by cursor, as a stream and filtered', async (t) => {
  const outer = await startNested(t, 'mode = "live"')
  const all = idsIn(listingTexts('a', LARGE))
  t.deepEqual(await walkAll(outer, 'limit=200'), all)
  t.deepEqual(await streamAll(outer), all)
  t.deepEqual(await walkAll(outer, 'gpu_model=H100&limit=200'), all)
})

test('a gateway pulls a snapshot of more than 2,000 listings of another gateway', async (t) => {
  const outer = await startNested(t, 'mode = "snapshot"')
  await whenPulled(outer, LARGE)
  t.deepEqual(await streamAll(outer), idsIn(listingTexts('a', LARGE)))
})

test('a listing from a worse source is not complete and not cached where a better one failed', async (t) => {
  const row = listingText({ listing_id: 'x', accepted_escrows: [{ escrow_address: '0xthief' }] })
  const good = await startOdd(t, ({ pathname }) => (pathname === '/listings/x' ? BROKEN : NOT_FOUND))
  const bad = await startOdd(t, ({ pathname }) =>
    pathname === '/listings/x' ? { status: 200, body: `{"listing":${row}}` } : NOT_FOUND,
  )
  const service = await startPatientGateway(t, [
    { name: 'good', url: good.url, settings: 'priority = 1' },
    { name: 'bad', url: bad.url, settings: 'priority = 9' },
  ])
  const { status, headers, json } = await service.get('/listings/x')
  t.is(status, 200)
  t.is(headers.get('cache-control'), 'no-store')
  const { complete, sources } = json() as ReadPage
  t.false(complete)
  t.like(
    sources.find(({ registry }) => registry === 'good'),
    { state: 'unavailable', reason: 'http_500' },
  )
})

for (const path of ['/listings?unheard_of=1&timeout_ms=500', '/filter-spec'])
  test(`an upstream that withholds its filter spec does not withhold GET ${path}`, async (t) => {
    const silent = await startOdd(t, ({ pathname }) => (pathname === '/filter-spec' ? null : NOT_FOUND))
    const upstream = { name: 'a', url: silent.url, settings: 'timeout_ms = 600000' }
    const service = await startGateway(t, [upstream])
    const { status } = await service.get(path)
    t.true(status < 500 || status === 504)
  })
