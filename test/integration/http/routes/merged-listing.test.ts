import { once } from 'node:events'
import { request } from 'node:http'
import test from 'ava'
import { agentAt } from '../../../helpers/agent.ts'
import { deadUrl, listingText, listingTexts } from '../../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../../helpers/gateway.ts'
import { manualClock } from '../../../helpers/manual-clock.ts'
import { startRegistry } from '../../../helpers/registry.ts'
import { ALICE, mintKey, publish } from '../../../helpers/seller.ts'

const environment = { REGISTRY_ADMIN_API_KEY: 'admin' }

const behind = (name: string, { url }: { url: string }, settings = '') => ({ name, url, settings })

test('one listing: an id that no listing may have is 404 without a request to an upstream', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 1) })
  const gateway = await startGateway(t, [behind('a', fake), behind('b', { url: deadUrl() }, 'priority = 9')])
  const lookups = () => fake.requests.filter(({ path }) => path.startsWith('/listings/')).length
  for (const id of ['x'.repeat(60_000), 'x'.repeat(201), '🚀'.repeat(201)]) {
    const { status, json } = await gateway.get(`/listings/${encodeURIComponent(id)}`)
    t.is(status, 404)
    t.is(json().detail, 'Listing not found')
  }
  t.is(lookups(), 0)
  t.is((await gateway.get(`/listings/${'x'.repeat(201)}?registry=nowhere`)).status, 400)
  t.is((await gateway.get(`/listings/${encodeURIComponent('🚀'.repeat(200))}`)).status, 502)
  t.is(lookups(), 1)
})

test('one listing: the best copy, and whether a better one may exist', async (t) => {
  const copies = (storefront_url: string): string[] =>
    ['first', 'second', 'third'].map((listing_id) => listingText({ listing_id, storefront_url }))
  const seller = `0x${'a'.repeat(40)}`
  const trusted = await startFake(t, {
    items: listingTexts('held', 1, { storefront_url: 'http://honest.example/' }),
    publishers: [[1, seller, 'http://honest.example/']],
  })
  const other = await startFake(t, {
    items: copies('http://evil.example/'),
    publishers: [[1, seller, 'http://evil.example/']],
  })
  const gateway = await startGateway(
    t,
    [
      { name: 'other', url: other.url, settings: 'priority = 9' },
      { name: 'trusted', url: trusted.url, settings: 'priority = 1' },
    ],
    { clock: manualClock() },
  )
  // They are not held.
  trusted.items = copies('http://honest.example/')
  const get = async (path: string) => {
    const { status, headers, json } = await gateway.get(path)
    return { status, caching: headers.get('cache-control') ?? '', ...(json() as Found) }
  }
  const best = await get('/listings/first')
  t.like(best.listing, { storefront_url: 'http://honest.example/', _meta: { registry: 'trusted' } })
  t.is(best.complete, undefined)
  t.is(best.sources, undefined)
  t.regex(best.caching, /^public, max-age=/)

  trusted.listingScript = { kind: 'status', status: 500 }
  const worse = await get('/listings/second')
  t.is(worse.status, 200)
  t.is(worse.caching, 'no-store')
  t.false(worse.complete)
  t.like(worse.sources?.[1], { registry: 'other', state: 'loaded', returned: 1 })
  t.like(worse.sources?.[2], { registry: 'trusted', state: 'unavailable', reason: 'http_500' })
  t.deepEqual(worse.listing._meta, {
    registry: 'other',
    publisher: seller,
    also_in: [],
    stale: false,
    disputed: ['trusted'],
    unchecked: ['trusted'],
    gpu: { model: 'H100', memory_gb: 80 },
    age_seconds: 0,
  })
  // The answer of a worse source changes nothing.
  trusted.listingScript = { kind: 'serve' }
  other.listingScript = { kind: 'status', status: 500 }
  const sure = await get('/listings/third')
  t.like(sure.listing._meta, { registry: 'trusted' })
  t.is(sure.complete, undefined)
})

type Found = {
  listing: { storefront_url: string; _meta: Record<string, unknown> }
  complete?: boolean
  sources?: Record<string, unknown>[]
}

test('one listing: completeness and disputes of an upstream gateway are passed on', async (t) => {
  const seller = `0x${'a'.repeat(40)}`
  const trusted = await startFake(t, {
    items: listingTexts('known', 1, { storefront_url: 'http://honest.example/' }),
    publishers: [[1, seller, 'http://honest.example/']],
    listingScript: { kind: 'status', status: 500 },
  })
  const curated = await startFake(t, { items: [listingText({ listing_id: 'x' })], publishers: [[1, seller]] })
  const eu = await startGateway(t, [
    { name: 'trusted', url: trusted.url },
    { name: 'curated', url: curated.url },
  ])
  const world = await startGateway(t, [{ name: 'eu', url: eu.url, settings: 'kind = "gateway"' }], {
    more: '[gateway]\nid = "world"\n',
  })
  await eu.get('/listings')
  for (const path of ['/listings/x', '/listings/x?registry=eu', '/listings/x?registry=eu/curated']) {
    const { status, headers, json } = await world.get(path)
    t.is(status, 200, path)
    t.is(headers.get('cache-control'), 'no-store')
    const { listing, complete, sources } = json() as Found
    t.false(complete)
    t.like(listing._meta, { registry: 'eu/curated', disputed: ['eu/trusted'] })
    t.like(sources?.at(-1), { registry: 'eu/trusted', state: 'unavailable', reason: 'http_500' })
  }
  t.is((await world.get('/listings/x?registry=asia/curated')).status, 400)
})

test('one listing: 404 only if every visible source answered 404', async (t) => {
  const empty = await startRegistry(t)
  const dead = deadUrl()
  const all = await startGateway(t, [behind('empty', empty)])
  const missing = await all.get('/listings/unknown')
  t.is(missing.status, 404)
  t.is(missing.json().detail, 'Listing not found')

  const some = await startGateway(t, [behind('empty', empty), behind('dead', { url: dead })])
  const unsure = await some.get('/listings/unknown')
  t.is(unsure.status, 502)
  t.regex(String(unsure.json().detail), /dead did not answer/)
  t.like((unsure.json().sources as unknown[])[2], { registry: 'dead', reason: 'connection_refused' })
  t.is((await some.get('/listings/unknown?registry=dead')).status, 503)
  t.is((await some.get('/listings/unknown?registry=empty')).status, 404)
  t.is((await some.get('/listings/unknown?registry=nowhere')).status, 400)

  const headers = { 'content-type': 'text/html' }
  const proxy = await startFake(t, {
    listingScript: { kind: 'status', status: 404, body: '<html>', headers },
  })
  const behindProxy = await startGateway(t, [behind('empty', empty), behind('proxy', proxy)])
  t.is((await behindProxy.get('/listings/unknown')).status, 502, 'a page of a proxy is no answer')
  t.is((await behindProxy.get('/listings/unknown?registry=proxy')).status, 503)
})

test('one listing: an unreadable copy is no answer, and another source shows the listing', async (t) => {
  const deep = listingText({ listing_id: 'deep' }).replace('[]', '['.repeat(40) + ']'.repeat(40))
  const bad = await startFake(t, { items: [deep] })
  const good = await startFake(t, { items: [listingText({ listing_id: 'deep' })] })
  const gateway = await startGateway(t, [behind('bad', bad), behind('good', good)])
  const found = await gateway.get('/listings/deep')
  t.is(found.status, 200)
  t.like(found.json(), { complete: false, listing: { _meta: { registry: 'good' } } })
  const alone = await gateway.get('/listings/deep?registry=bad')
  t.is(alone.status, 503)
  t.like(alone.json(), { sources: [{ registry: 'bad', reason: 'bad_envelope' }] })
})

test('one listing: an id that is no Unicode is no listing, for agents too', async (t) => {
  const fake = await startFake(t, { items: [listingText({ listing_id: 'x' })] })
  const { url } = await startGateway(t, [behind('a', fake)])
  const agent = await agentAt(t, url)
  for (const listing_id of ['\ud800', '.', '..']) {
    const { isError, notice } = await agent.call('get_listing', { listing_id })
    t.false(isError)
    t.regex(notice, /There is no such listing\. The beginning of an id has 8 /)
  }
  const { value } = await agent.call('get_listing', { listing_id: 'x', registry: 'a' })
  t.is(value.listing?.listing_id, 'x')
})

test('one listing: an id such as `..` does not change the path', async (t) => {
  const fake = await startFake(t)
  const { url } = await startGateway(t, [behind('a', fake)])
  for (const id of ['%2e%2e', '..', '%2E', '..%2Fadmin']) {
    const [response] = await once(request(`${url}`, { path: `/listings/${id}` }).end(), 'response')
    t.is(response.statusCode, 404, id)
    response.resume()
  }
  for (const { path } of fake.requests)
    t.true(['/filter-spec', '/listings', '/listings/..%2Fadmin'].includes(path), path)
})

test('one listing: a private source is read and named with a key only', async (t) => {
  const hidden = await startRegistry(t)
  await publish(hidden.url, ALICE, { listing_id: 'secret' })
  const settings = 'visibility = "private"'
  const gateway = await startGateway(
    t,
    [behind('hidden', hidden, settings), behind('gone', { url: deadUrl() }, settings)],
    {
      environment,
    },
  )
  const { bearer } = await mintKey(gateway.url)
  t.is((await gateway.get('/listings/secret', bearer)).status, 200)
  t.is((await gateway.get('/listings/none', bearer)).status, 502)
  const unknownKey = { Authorization: 'Bearer unknown' }
  t.is((await gateway.get('/listings', unknownKey)).status, 401, 'it would show less than a valid key')
  for (const path of ['/listings/secret', '/listings/none']) {
    const reply = await gateway.get(path)
    t.is(reply.status, 404)
    t.notRegex(reply.text + JSON.stringify([...reply.headers]), /hidden|gone/)
  }
  const [named, unknown] = [
    await gateway.get('/listings/secret?registry=hidden'),
    await gateway.get('/listings/secret?registry=unknown'),
  ]
  t.is(named.status, 400)
  t.is(named.text.replace('hidden', 'unknown'), unknown.text)
  const none = await startGateway(t, [behind('hidden', hidden, settings)], {
    more: '[registry]\nenabled = false\n',
  })
  t.is((await none.get('/listings/secret')).status, 503, 'without a source nothing is known not to exist')
})

test('one listing: an upstream that sends another listing is ignored', async (t) => {
  const fake = await startFake(t)
  const gateway = await startGateway(t, [behind('odd', fake)])
  const others = [
    { listing_id: 'other' },
    { listing_id: 'WANTED' },
    { listing_id: 'wanted', x: 'x'.repeat(2e5) },
  ]
  const listings = others.map((fields) => `{"listing":${listingText(fields)}}`)
  for (const body of ['{"listing":7}', '{"status":"ok"}', 'oops', ...listings]) {
    fake.listingScript = { kind: 'body', body }
    const reply = await gateway.get('/listings/wanted', { 'Cache-Control': 'no-cache' })
    t.is(reply.status, 502)
    t.regex(JSON.stringify(reply.json().sources), /not_json|bad_envelope|too_large/)
  }
})
