import test, { type ExecutionContext } from 'ava'
import { eventually } from '../../helpers/eventually.ts'
import { listingText } from '../../helpers/fake-registry.ts'
import { patientToml, startFake, startPatientGateway } from '../../helpers/gateway.ts'
import { startRegistry } from '../../helpers/registry.ts'
import { temporaryFile } from '../../helpers/run-cli.ts'
import { ALICE, BOB, publish } from '../../helpers/seller.ts'
import { authorityEnvironment, readSigned, type SignedReply } from '../../helpers/signed-reader.ts'

const [WALLET, OTHER] = [ALICE, BOB].map(({ address }) => address.toLowerCase()) as [string, string]
const STOREFRONT = 'http://storefront.example/'
const FIELDS = {
  storefront_url: STOREFRONT,
  offer_resource: { gpu_model: 'H200', region: 'Reykjavik, IS' },
  accepted_escrows: [],
  demands: [],
}

/** A gateway with a listing of its own, over a Registry with listings of a known and an unknown publisher. */
async function start(t: ExecutionContext, environment: Record<string, string> = {}) {
  const row = (listing_id: string, publisher_id: number, more = {}) =>
    listingText({ listing_id, publisher_id, storefront_url: STOREFRONT, ...more })
  const fake = await startFake(t, {
    items: [
      row('of-bob', 7),
      row('unknown', 8),
      row('own', 7),
      row('large', 7).replace('"gpu_count":1', '"gpu_count":9007199254740993'),
    ],
    publishers: [[7, OTHER, STOREFRONT]],
  })
  const service = await startRegistry(t, {
    toml: patientToml([{ name: 'up', url: fake.url }]),
    environment: { ...authorityEnvironment(t), ...environment },
  })
  await publish(service.url, ALICE, { listing_id: 'own', ...FIELDS })
  if (environment.REGISTRY_REQUIRE_READ_API_KEY === undefined)
    await eventually('the directory of the Registry is known', async () =>
      (await service.get('/listings')).text.includes(`"publisher":"${OTHER}"`),
    )
  const read = (path: string, changes = {}) => readSigned(service.url, path, changes)
  return { ...service, read }
}

const idsOf = ({ body }: SignedReply): string[] => body.items.map(({ listing_id }) => listing_id)

test('signed reads: the items of the plain line, signed, with who publishes them', async (t) => {
  const { read, get } = await start(t)
  const page = await read('/listings?status=open')
  t.is(page.status, 200)
  t.true(page.isSigned)
  t.deepEqual(idsOf(page), ['own', 'of-bob'])
  t.like(page.body, { count: 2, total_after_filter: 2, complete: true })
  t.like(page.body.sources?.[1], { returned: 1, invalid: undefined })
  t.false(page.text.includes('left_out'))
  const [own, upstreams] = page.body.items
  t.like(own, {
    publisher_id: 1,
    publisher_principals: { identities: [{ scheme: 'eip191', identifier: WALLET }] },
  })
  t.like(upstreams, { publisher_id: OTHER, settlement_options: [] })
  t.is(page.headers.get('cache-control'), 'no-store')
  const one = await read('/listings/of-bob')
  t.true(one.isSigned)
  t.is(one.body.listing.publisher_id, OTHER)
  t.is((await read('/listings/unknown')).status, 404)
  const filter = `publisher_scheme=eip191&publisher_identifier=${WALLET}`
  t.deepEqual(idsOf(await read(`/listings?${filter}`)), ['own'])
  const plain = await get('/listings')
  t.is((plain.json() as { items: unknown[] }).items.length, 5)
  t.regex(plain.headers.get('vary') ?? '', /X-Market-Signature-Version/)
})

test('signed reads: wrong filters are 400, whether the publisher is known or not', async (t) => {
  const { url } = await startFake(t, { items: [] })
  const unknown = `publisher_scheme=eip191&publisher_identifier=0x${'1'.repeat(40)}`
  for (const toml of ['', patientToml([{ name: 'up', url }])]) {
    const registry = await startRegistry(t, { toml, environment: authorityEnvironment(t) })
    const read = (path: string) => readSigned(registry.url, path)
    t.like(await read(`/listings?${unknown}`), { status: 200, body: { items: [], total_after_filter: 0 } })
    for (const wrong of ['banana=1', 'gpu_count_min=lots', 'strict.banana=true'])
      t.is((await read(`/listings?${unknown}&${wrong}`)).status, 400, wrong)
  }
})

test('signed reads: filters of publisher_principals are over the rows that are served', async (t) => {
  const filters = ['scheme', 'identifier'].map((name) => {
    const path = `$.publisher_principals.identities[*].${name}`
    return { name, path, op: 'in', value_type: 'string', on_missing: 'fail' }
  })
  const spec = temporaryFile(t, 'spec.json', JSON.stringify({ version: 1, filters, listing_shape: {} }))
  const { url, get } = await startRegistry(t, {
    environment: { ...authorityEnvironment(t), REGISTRY_FILTER_SPEC_PATH: spec },
  })
  await publish(url, ALICE, { listing_id: 'of-alice', ...FIELDS })
  await publish(url, BOB, { listing_id: 'of-bob', ...FIELDS })
  for (const [query, ids] of [
    [`identifier=${WALLET}`, ['of-alice']],
    [`identifier=${WALLET}&sort=price`, ['of-alice']],
    [`identifier=in:[${WALLET},${OTHER}]`, ['of-bob', 'of-alice']],
    [`identifier=${WALLET}&publisher_scheme=eip191&publisher_identifier=${OTHER}`, []],
    ['scheme=eip191', ['of-bob', 'of-alice']],
    ['scheme=ed25519', []],
  ] as const) {
    const page = await readSigned(url, `/listings?${query}`)
    t.deepEqual(idsOf(page), [...ids], query)
    t.is(page.body.total_after_filter, ids.length, query)
  }
  const plain = await get(`/listings?identifier=${WALLET}`)
  t.like(plain.json(), { items: [], total_after_filter: 0 }, 'plain rows have no such member')
})

test('signed reads: each id once over several pages, in totals and facets', async (t) => {
  const { read, get } = await start(t)
  const pages = []
  for (let offset = 0; offset < 4; offset++) pages.push(await read(`/listings?limit=1&offset=${offset}`))
  t.deepEqual(pages.map(idsOf), [['own'], ['of-bob'], [], []])
  t.is(pages[0]?.body.items[0]?.publisher_id, 1)
  for (const { body } of pages) t.is(body.total_after_filter, 2)
  const counted = await read('/facets', { operation: 'facet.list', resource: 'facets' })
  t.is((counted.body as { total?: number }).total, 2, counted.text)
  t.is((await read('/listings/own')).body.listing.publisher_id, 1)
  const { body: byPrice } = await read('/listings?sort=price&limit=1&offset=1')
  t.deepEqual([byPrice.items.length, byPrice.total_after_filter], [1, 2])
  const plain = (await get('/listings')).json() as { total_after_filter: number }
  t.is(plain.total_after_filter, 5)
})

test('signed reads: nothing is counted of sources that the reader does not see', async (t) => {
  const row = (listing_id: string, publisher_id: number) =>
    listingText({ listing_id, publisher_id, storefront_url: STOREFRONT })
  const signed = await startFake(t, { items: [row('one', 7)], publishers: [[7, OTHER, STOREFRONT]] })
  const unsigned = await startFake(t, { items: [row('two', 8), row('three', 8)], publishers: [] })
  const up = { name: 'up', url: signed.url }
  const view = '[[views]]\nname = "few"\nsources = ["local", "up"]\n[access]\nanonymous = "few"\n'
  const gateways = [
    await startPatientGateway(t, [up], { environment: authorityEnvironment(t) }),
    await startPatientGateway(
      t,
      [up, { name: 'secret', url: unsigned.url, settings: 'visibility = "private"' }],
      {
        environment: authorityEnvironment(t),
      },
    ),
    await startPatientGateway(t, [up, { name: 'outside', url: unsigned.url }], {
      environment: authorityEnvironment(t),
      more: view,
    }),
  ]
  const facets = { operation: 'facet.list', resource: 'facets' }
  for (const [path, changes] of [
    ['/listings', {}],
    ['/listings?sort=price&limit=1', {}],
    ['/listings?gpu_model=H100', {}],
    ['/facets', facets],
    ['/listings/two', {}],
  ] as const) {
    const answers = await Promise.all(gateways.map(({ url }) => readSigned(url, path, changes)))
    const [alone, ...others] = answers.map(({ text }) =>
      text.replaceAll(/"(elapsed_ms|age_seconds|changes_position)":[^,}]+| \d+ s old/g, ''),
    )
    for (const text of others) t.is(text, alone!, path)
  }
})

test('signed reads: a directory of publishers that fails makes the answer incomplete', async (t) => {
  const row = (listing_id: string) => listingText({ listing_id, publisher_id: 7, storefront_url: STOREFRONT })
  const fake = await startFake(t, {
    items: [row('one'), row('two')],
    publishers: [[7, OTHER, STOREFRONT]],
    publisherScript: { kind: 'status', status: 503 },
  })
  const { url } = await startRegistry(t, {
    toml: patientToml([{ name: 'up', url: fake.url }]),
    environment: authorityEnvironment(t),
  })
  const isUnread = async (path: string, changes = {}) => {
    const { body } = await readSigned(url, path, changes)
    const { complete, sources = [] } = body as { complete?: boolean; sources?: { registry?: string }[] }
    return complete === false && sources.some(({ registry }) => registry === 'up/publishers')
  }
  await eventually('the page is incomplete', () => isUnread('/listings'))
  const facets = { operation: 'facet.list', resource: 'facets' }
  await eventually('the counts are incomplete', () => isUnread('/facets', facets))
  t.true(await isUnread('/listings?sort=price'))
})

test('signed reads: publishers, health, statistics and the filter spec have the forms of the signed line', async (t) => {
  const { read, get } = await start(t)
  const { body: publishers } = await read(`/publishers?scheme=eip191&identifier=${WALLET}`)
  t.deepEqual(publishers.items[0]?.identities, [
    {
      principal: { scheme: 'eip191', identifier: WALLET },
      status: 'primary',
      active_until: null,
      retired_at: null,
      disabled_at: null,
    },
  ])
  t.like((await read('/publishers/01')).body, { publisher_id: 1 })
  t.like((await read('/api/v1/system/health')).body, { status: 'ok' })
  t.true((await read('/api/v1/system/stats')).isSigned)
  const spec = await read('/filter-spec')
  t.like(spec.body.filters[0], { name: 'region', query_name: null, query_aliases: [] })
  t.deepEqual(Object.keys(spec.body.filters[0] ?? {}).slice(0, 4), [
    'name',
    'path',
    'query_name',
    'query_aliases',
  ])
  t.like(
    (spec.body.filters as { name?: string }[]).find(({ name }) => name === 'ram_gb_min'),
    { query_name: 'ram_gb', query_aliases: ['ram_gb_min'] },
  )
  const changes = await read('/changes', { operation: 'change.list', resource: 'changes' })
  t.deepEqual([changes.status, changes.isSigned], [200, false])
  const byName = await read('/listings?ram_gb=64')
  t.like(byName, { status: 400, isSigned: true, body: { detail: "unknown filter: 'ram_gb'" } })
  t.not(spec.body.etag, (await get('/filter-spec')).json().etag)
  t.is(spec.headers.get('etag'), `"${spec.body.etag}"`)
  const pinned = await read('/listings', { headers: { 'if-match': `"${spec.body.etag}"` } })
  t.is(pinned.status, 200)
  const stale = await read('/listings', { headers: { 'if-match': '"other"' } })
  t.is(stale.status, 412)
  t.is(stale.body.current_etag, spec.body.etag)
})

test('signed reads: every answer to a reader who is known is signed, refusals too', async (t) => {
  const { read } = await start(t, { REGISTRY_REQUIRE_READ_API_KEY: 'true', REGISTRY_ADMIN_API_KEY: 'admin' })
  const closed = await read('/listings')
  t.deepEqual([closed.status, closed.isSigned], [401, true])
  const headers = { authorization: 'Bearer admin' }
  const open = await start(t)
  for (const [status, path, changes] of [
    [400, '/listings?colour=red', {}],
    [200, '/listings', { headers: { ...headers, accept: 'application/x-ndjson' } }],
  ] as const) {
    const reply = await open.read(path, changes)
    t.deepEqual([reply.status, reply.isSigned], [status, true], path)
  }
  const requestId = 'once'
  t.is((await open.read('/listings', { requestId })).status, 200)
  t.is((await open.read('/listings', { requestId })).status, 200)
  const other = await open.read('/filter-spec', { requestId })
  t.like(other, { status: 409, body: { detail: 'changed_reuse' }, isSigned: true })
})

test('signed reads: without a key of its own the service speaks the plain line only', async (t) => {
  const plain = await startRegistry(t)
  t.like(await readSigned(plain.url, '/listings'), {
    status: 503,
    body: { detail: 'Registry authority unavailable' },
  })
  t.notRegex((await plain.get('/listings')).headers.get('vary') ?? '', /X-Market/)
})
