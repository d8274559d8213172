import test from 'ava'
import { parseList } from 'structured-headers'
import { announcedBy } from '../../../helpers/announced.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { deadUrl, listingText, listingTexts } from '../../../helpers/fake-registry.ts'
import { startFake, startGateway, startPatientGateway } from '../../../helpers/gateway.ts'
import { manualClock } from '../../../helpers/manual-clock.ts'
import { startRegistry } from '../../../helpers/registry.ts'
import { ALICE, BOB, mintKey, publish } from '../../../helpers/seller.ts'
import type { Answer } from '../../../helpers/sequence.ts'

const NO_CACHE = { 'Cache-Control': 'no-cache' }

test('gateway parameters: validated, and not taken for filters', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 3) })
  const { get } = await startGateway(t, [{ name: 'a', url: fake.url }])
  for (const [query, status, detail] of [
    ['require=some', 422, /query\.require/],
    ['timeout_ms=99', 422, /query\.timeout_ms.*100/],
    ['timeout_ms=10001', 422, /query\.timeout_ms.*10000/],
    ['timeout_ms=soon', 422, /query\.timeout_ms/],
    ['explain=true', 400, /explain/],
    ['sources=b', 400, /"b"/],
    ['sources=a,%0d%0ab', 400, /b"/],
    ['cursor=x&offset=1', 400, /cursor/],
  ] as const) {
    const { status: got, json } = await get(`/listings?${query}`)
    t.is(got, status, query)
    t.regex(String(json().detail), detail)
  }
  for (const query of ['require=all', 'timeout_ms=100', 'sources=a', 'sources=', 'require='])
    t.is((await get(`/listings?${query}`)).status, 200, query)
  t.is((await get('/listings?sources=a&sources=local')).json().total_after_filter, 0, 'the last one counts')
  for (const { parameters } of fake.requests)
    for (const name of ['require', 'timeout_ms', 'sources']) t.false(parameters.has(name), name)
})

test('require=all: 502 with the sources if one is not current', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 3) })
  const { get } = await startGateway(t, [
    { name: 'a', url: fake.url },
    { name: 'dead', url: deadUrl() },
  ])
  const refused = await get('/listings?require=all')
  t.is(refused.status, 502)
  t.is(refused.headers.get('cache-control'), 'no-store')
  t.like(refused.json(), { sources: [{ registry: 'local' }, { registry: 'a' }, { registry: 'dead' }] })
  t.is((await get('/listings?require=all&sources=a,local')).status, 200)
})

test('status: closed listings are of the own Registry, and open ones of all', async (t) => {
  const items = [...listingTexts('a', 2), listingText({ listing_id: 'a-closed', status: 'closed' })]
  const fake = await startFake(t, { items })
  const upstreams = [{ name: 'a', url: fake.url }]
  const { url, get } = await startGateway(t, upstreams)
  const read = async (path: string, headers = {}) => (await get(path, headers)).json() as Answer
  const nothing = await read('/listings?status=closed')
  t.like(nothing, { items: [], complete: false }, 'and no failure')
  await publish(url, ALICE, { listing_id: 'own-closed', status: 'closed' })
  await publish(url, BOB, { listing_id: 'own' })
  // The own closed copy decides about it.
  await publish(url, BOB, { listing_id: 'a-0001', status: 'closed' })
  const idsAt = async (path: string) => {
    const { items, sources, complete } = await read(path, NO_CACHE)
    t.false(complete, path)
    return [
      items
        .map(({ listing_id, _meta }) => `${_meta.registry}/${listing_id}`)
        .sort()
        .join(),
      ...sources
        .filter(({ state }) => state !== 'loaded')
        .map(({ registry, reason }) => `${registry} ${reason}`),
    ]
  }
  t.deepEqual(await idsAt('/listings?status=closed'), ['local/a-0001,local/own-closed', 'a open_only'])
  t.deepEqual(await idsAt('/listings?status='), [
    'a/a-0000,a/a-0001,local/a-0001,local/own,local/own-closed',
    'a/closed open_only',
  ])
  t.regex((await get('/listings?status=closed', { Accept: 'application/x-ndjson' })).text, /own-closed/)
  t.is((await read('/facets?status=closed&by=registry')).complete, false)
  t.is((await get('/listings/a-closed')).status, 200, 'any status is found')
  const pure = await startGateway(t, upstreams, { more: '[registry]\nenabled = false\n' })
  for (const path of [
    '/listings?status=closed',
    '/listings?status=expired',
    '/facets?status=closed',
    '/changes?status=closed',
  ]) {
    const { status, json } = await pure.get(path)
    t.is(status, 400, path)
    t.regex(
      String(json().detail),
      /only open listings of other Registries: ask those for (closed|expired) ones/,
    )
  }
  t.is((await pure.get('/listings?status=')).json().total_after_filter, 2)
  t.is((await pure.get('/listings/a-closed')).status, 200)
})

test('headers: report each visible source and how long the response is fresh', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 3) })
  const { get } = await startGateway(t, [
    { name: 'a', url: fake.url },
    { name: '4dead', url: deadUrl() },
  ])
  const { headers } = await get('/listings', NO_CACHE)
  t.is(headers.get('cache-control'), 'no-store', 'not complete')
  const members = parseList(headers.get('cache-status') ?? '')
  t.deepEqual(
    members.map(([name]) => String(name)),
    ['local', 'a', '4dead'],
  )
  t.is(String(members[2]![1].get('detail')), 'connection_refused')
  t.regex(headers.get('server-timing') ?? '', /^local;dur=[\d.]+, a;dur=[\d.]+, 4dead;dur=[\d.]+$/)
  t.is(headers.get('vary'), 'Accept, Authorization, CDN-Loop, Accept-Encoding')
  t.is(headers.get('via'), '1.1 entrepot')

  const good = await get('/listings?sources=a,local', NO_CACHE)
  t.regex(good.headers.get('cache-control') ?? '', /^public, max-age=\d+$/)
})

test('headers: stay below 4 KiB for any number of sources', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 1) })
  const upstreams = Array.from({ length: 100 }, (_, n) => ({
    name: `${n}-`.padEnd(60, 'x'),
    url: `${fake.url}/${n}`,
  }))
  const { url, get } = await startGateway(t, upstreams)
  await publish(url, ALICE, { listing_id: 'own' })
  const { status, headers } = await get('/listings')
  t.is(status, 200)
  const [cache = '', timing = ''] = ['cache-status', 'server-timing'].map((name) => headers.get(name) ?? '')
  t.true(cache.length + timing.length < 4096)
  const members = parseList(cache).map(([name]) => String(name))
  const left = Number(/^and (\d+) more$/.exec(members.at(-1) ?? '')?.[1])
  t.is(members.length - 1 + left, 101)
  t.is(members[0], 'local')
  t.regex(timing, /^local;dur=[\d.]+, .*, and-\d+-more;dur=[\d.]+$/)
})

test('OpenAPI: a gateway answers as its document announces', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 3) })
  const environment = { REGISTRY_ADMIN_API_KEY: 'admin' }
  const upstreams = [
    { name: 'a', url: fake.url },
    { name: 'dead', url: deadUrl() },
  ]
  const { get } = await startGateway(t, upstreams, { environment })
  const judge = announcedBy(JSON.parse((await get('/openapi.json')).text))
  for (const [template, path, headers] of [
    ['/listings', '/listings?limit=1', {}],
    ['/listings', '/listings', { 'If-None-Match': '*' }],
    ['/listings', '/listings?require=all', {}],
    ['/listings', '/listings?sources=x', {}],
    ['/listings', '/listings?sources=dead', {}],
    ['/listings', '/listings?timeout_ms=1', {}],
    ['/listings', '/listings', { 'CDN-Loop': 'a, b, c, d' }],
    ['/listings/{id}', '/listings/a-0001', {}],
    ['/listings/{id}', '/listings/unknown', {}],
    ['/listings/{id}', '/listings/unknown?registry=a', {}],
    ['/sources', '/sources', {}],
    ['/admin/sources', '/admin/sources', { Authorization: 'Bearer admin' }],
    ['/admin/sources', '/admin/sources', {}],
  ] as const) {
    const { status, text, headers: sent } = await get(path, headers)
    t.is(judge('GET', template, { status, text, type: sent.get('content-type') ?? '' }), null, path)
  }
})

test('ETag: depends on the content and not on ages, 304 while unchanged', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 3) })
  const { url, get } = await startGateway(t, [{ name: 'a', url: fake.url }])
  const first = await get('/listings', NO_CACHE)
  const etag = first.headers.get('etag') ?? ''
  t.regex(etag, /^W\/"[\w-]+"$/)
  const again = await get('/listings', { ...NO_CACHE, 'If-None-Match': etag })
  t.is(again.status, 304)
  t.is(again.text, '')
  t.is(again.headers.get('etag'), etag)
  await publish(url, ALICE, { listing_id: 'new' })
  t.is((await get('/listings', { ...NO_CACHE, 'If-None-Match': etag })).status, 200)
})

test('response cache: an incomplete response is not sent again', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 3), script: [{ kind: 'status', status: 404 }] })
  const clock = manualClock()
  const { url, get } = await startGateway(t, [{ name: 'a', url: fake.url }], { clock })
  await publish(url, ALICE, { listing_id: 'own' })
  for (let n = 0; n < 3; n++) t.like((await get('/listings')).json(), { count: 1, complete: false })
  fake.script = [{ kind: 'serve' }]
  clock.advance(20_000)
  await eventually('complete', async () => (await get('/listings')).json().complete === true)
  t.like((await get('/listings')).json(), { count: 4, complete: true })
})

test('Cache-Control: public without a key, private with one', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 1) })
  const environment = { REGISTRY_ADMIN_API_KEY: 'admin' }
  const settings = 'visibility = "private"'
  const { url, get } = await startGateway(t, [{ name: 'a', url: fake.url, settings }], { environment })
  const keyed = await get('/listings', (await mintKey(url)).bearer)
  t.regex(keyed.headers.get('cache-control') ?? '', /^private, max-age=\d+$/)
  t.is(keyed.json().total_after_filter, 1)
  t.regex((await get('/listings')).headers.get('cache-control') ?? '', /^public, max-age=\d+$/)
})

test('merged listings: the page of an unknown publisher is empty whatever the filters are', async (t) => {
  const upstream = await startRegistry(t)
  await publish(upstream.url, ALICE, { listing_id: 'one', status: 'open' })
  const gateway = await startPatientGateway(t, [{ name: 'a', url: upstream.url }])
  for (const wrong of ['banana=1', 'gpu_count_min=x', 'strict.banana=true'])
    for (const { get } of [upstream, gateway]) {
      const unknown = await get(`/listings?publisher=0x0&${wrong}`)
      t.is(unknown.status, 200, wrong)
      t.like(unknown.json(), { items: [], count: 0, total_after_filter: 0 })
      t.is((await get(`/listings?publisher=${ALICE.address}&${wrong}`)).status, 400, wrong)
    }
  t.is((await gateway.get('/listings?publisher=0x0&banana=1&status=odd')).status, 400)
  t.is((await gateway.get('/listings?publisher=0x0')).json().complete, true)
})

test('private sources: announced only where the operator says so, to readers who do not see them', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 1) })
  const upstreams = [
    { name: 'open', url: fake.url },
    { name: 'hush', url: fake.url, settings: 'visibility = "private"' },
  ]
  const environment = { REGISTRY_ADMIN_API_KEY: 'admin' }
  for (const isAnnounced of [false, true]) {
    const more = isAnnounced ? '[access]\nannounce_private = true\n' : ''
    const { url, get } = await startPatientGateway(t, upstreams, { environment, more })
    const { bearer } = await mintKey(url)
    for (const path of ['/listings', '/facets']) {
      const { text, json } = await get(path)
      t.is(json().private_sources, isAnnounced ? true : undefined, path)
      t.false(text.includes('hush'), path)
      if (path === '/facets') t.is(/private Registries/.test(String(json().summary)), isAnnounced)
      t.is((await get(path, bearer)).json().private_sources, undefined, path)
    }
  }
})
