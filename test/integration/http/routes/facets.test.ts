import test from 'ava'
import { escrow } from '../../../helpers/escrow.ts'
import { listingText } from '../../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../../helpers/gateway.ts'
import { startRegistry } from '../../../helpers/registry.ts'
import { ALICE, publish } from '../../../helpers/seller.ts'

const UNKNOWN = `0x${'c'.repeat(40)}`

const offer = (gpu_model: string, gpu_count: number, ...accepted_escrows: object[]) => ({
  offer_resource: { gpu_model, gpu_count, region: 'Oslo, NO' },
  accepted_escrows,
})

const MARKET = {
  cheap: offer('H200', 8, escrow('16800000'), escrow('7', { token: UNKNOWN })),
  dear: offer('H100', 1, escrow('3000000')),
  credits: offer('H100', 1, escrow('1500', { per: 'token' })),
  // Absurd ones have no price.
  absurd: offer('H200', -1, escrow(`1${'0'.repeat(78)}`), escrow('-1'), escrow('free')),
}

test('facets: a plain Registry counts its listings and prices, and sends the answer again', async (t) => {
  const registry = await startRegistry(t)
  for (const [listing_id, fields] of Object.entries(MARKET))
    await publish(registry.url, ALICE, { listing_id, ...fields })
  const asked = '/facets?by=gpu_model,registry,static_ip'
  const first = await registry.get(asked)
  const usdc = { symbol: 'USDC', chains: [{ chain: 'base', offers: 2 }], decimals: 6, price_per: 'gpu' }
  const { sources, ...counted } = first.json()
  t.deepEqual(counted, {
    total: 4,
    gpus: 10,
    sellers: 1,
    facets: {
      gpu_model: {
        values: [
          { value: 'H100', count: 2 },
          { value: 'H200', count: 2 },
        ],
        other: 0,
        missing: 0,
      },
      registry: { values: [{ value: 'local', count: 4 }], other: 0, missing: 0 },
      static_ip: { values: [], other: 0, missing: 4 },
    },
    prices: [
      { ...usdc, unit: 'hour', offers: 2, gpus: 9, least: '2.1', least_gpus: 8, median: '2.1', most: '3' },
      {
        ...usdc,
        chains: [{ chain: 'base', offers: 1 }],
        unit: 'token',
        offers: 1,
        gpus: 1,
        least: '0.0015',
        least_gpus: 1,
        median: '0.0015',
        most: '0.0015',
      },
      {
        chains: [{ chain: 'base', offers: 1 }],
        token: UNKNOWN,
        unit: 'hour',
        price_per: 'gpu',
        offers: 1,
        gpus: 8,
        least: '1',
        median: '1',
        most: '1',
      },
    ],
    not_counted: { other: 1, unreadable: 1 },
    summary:
      'Cheapest 2.10 USDC/GPU·h (8 GPUs at once), median 2.10, of 2 of 4 listings by 1 seller. Not counted: 1 price in other units or tokens, 1 price that cannot be read.',
    complete: true,
  })
  t.like(sources, [{ registry: 'local', state: 'loaded', matched: 4, returned: 0, age_seconds: 0 }])
  const etag = first.headers.get('etag')!
  t.is((await registry.get(asked, { 'If-None-Match': etag })).status, 304)
  t.is((await registry.get(asked)).text, first.text)
  t.like((await registry.get('/facets?price_per=offer&price_max=3&price_token=USDC&gpu_model=H100')).json(), {
    total: 2,
    facets: {},
  })
  const { facets } = (await registry.get('/facets?prices_by=gpu')).json() as {
    facets: { gpu: { values: { value: string; prices: { symbol?: string; least: string }[] }[] } }
  }
  t.deepEqual(
    facets.gpu.values.map(({ value, prices: [first] }) => [value, first?.symbol, first?.least]),
    [
      ['H100', 'USDC', '3'],
      ['H200', 'USDC', '2.1'],
    ],
  )
  await publish(registry.url, ALICE, { listing_id: 'more', ...MARKET.dear })
  const later = await registry.get(asked)
  t.is(later.json().total, 5)
  t.not(later.headers.get('etag'), etag)

  const refused: [query: string, status: number, detail: RegExp][] = [
    ['by=gpu_modle', 400, /^by: there is no "gpu_modle"; did you mean gpu_model\?$/],
    ['prices_by=nothing', 400, /./],
    ['by=nothing', 400, /^by: there is no "nothing": known are registry, region, gpu_model, /],
    ['by=a,b,c,d,e,f,g,h,i', 400, /^by: at most 8 names, got 9$/],
    ['limit=5', 400, /unknown filter: 'limit'/],
    ['sort=price', 400, /unknown filter: 'sort'/],
    ['status=gone', 400, /Invalid status: gone/],
    ['sources=nowhere', 400, /There is no source "nowhere"/],
    ['timeout_ms=1', 422, /./],
  ]
  for (const [query, status, detail] of refused) {
    const reply = await registry.get(`/facets?${query}`)
    t.is(reply.status, status, query)
    t.regex(String(reply.json().detail), detail, query)
  }
})

test('facets: a gateway counts each listing once over all sources, and what is held in part is at least that', async (t) => {
  const rows = Object.entries(MARKET).map(([listing_id, fields]) => listingText({ listing_id, ...fields }))
  const live = await startFake(t, { items: rows.slice(0, 3) })
  const mirror = await startFake(t, { items: rows.slice(1) })
  const large = await startFake(t, { items: rows })
  const gateway = await startGateway(t, [
    { name: 'live', url: live.url },
    { name: 'mirror', url: mirror.url },
    { name: 'large', url: large.url, settings: 'max_listings = 3' },
  ])
  const { total, facets, prices, complete, sources } = (
    await gateway.get('/facets?by=gpu,gpu_model,registry')
  ).json() as {
    total: number
    complete: boolean
    facets: Record<string, unknown>
    prices: { offers: number }[]
    sources: { registry: string; state: string; reason?: string }[]
  }
  t.deepEqual([total, complete], [4, false])
  const counts = ['H100', 'H200'].map((value) => ({ value, count: 2, at_least: true }))
  t.deepEqual(facets.gpu_model, { values: counts, other: 0, missing: 0 })
  const { values } = facets.gpu as { values: { value: string }[] }
  t.deepEqual(values.slice(0, 2), counts)
  const offered = values.find(({ value }) => value === 'A100')
  t.deepEqual(offered, { value: 'A100', count: 0, at_least: true }, 'a known model may be in the rest')
  t.deepEqual(facets.registry, {
    values: [
      { value: 'live', count: 3 },
      { value: 'mirror', count: 1 },
    ],
    other: 0,
    missing: 0,
  })
  t.deepEqual(
    prices.map(({ offers }) => offers),
    [2, 1, 1],
  )
  t.like(
    sources.find(({ registry }) => registry === 'large'),
    { state: 'partial', reason: 'too_large', held: 3, of: 4 },
  )
  t.is((await gateway.get('/facets?require=all')).status, 502)
})
