import test, { type ExecutionContext } from 'ava'
import { agentAt } from '../../../helpers/agent.ts'
import { listingText, listingTexts } from '../../../helpers/fake-registry.ts'
import { startFake, startGateway, startPatientGateway, whenReady } from '../../../helpers/gateway.ts'
import { openMarket } from '../../../helpers/market.ts'
import { type RunningService, startRegistry } from '../../../helpers/registry.ts'
import { runCli } from '../../../helpers/run-cli.ts'
import { mintKey } from '../../../helpers/seller.ts'

const USDC = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'

const ETHEREUM_USDC = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'

function terms(value: unknown, gpu_count: unknown = 1, token = USDC) {
  const rates = [{ field: 'amount', per: 'hour', value }]
  return {
    offer_resource: { gpu_model: 'H200', gpu_count },
    accepted_escrows: [{ chain_name: 'base', literal_fields: { token, symbol: 'FREE' }, rates }],
  }
}

/** Two dear, one cheap per GPU, one in another token, and two that are no prices. */
const OFFERS = {
  dear: terms('3000000'),
  dearest: terms('9000000'),
  eight: terms('16800000', 8),
  other: terms('1', 1, `0x${'c'.repeat(40)}`),
  absurd: terms(`${10n ** 78n}`),
  none: terms('1', 0),
}

type Row = { listing_id: string; _meta?: { price?: Record<string, unknown> } }

type Facets = {
  outliers?: number
  summary: string
  prices: { least: string }[]
  facets: Record<string, { values: { prices: object[] }[] }>
}

const linesOf = (ndjson: string): Row[] =>
  ndjson
    .trim()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Row)

async function rowsOf({ get }: RunningService, query: string): Promise<Row[]> {
  const { status, text, json } = await get(`/listings?${query}`)
  if (status !== 200) throw new Error(text)
  return json().items as Row[]
}

const idsOf = (rows: readonly Row[]): string[] => rows.map(({ listing_id }) => listing_id)

async function openBoth(t: Parameters<typeof openMarket>[0]) {
  const market = await openMarket(t)
  for (const [listing_id, offer] of Object.entries(OFFERS)) await market.publish({ listing_id, ...offer })
  const items = Object.entries(OFFERS)
    .map(([listing_id, offer]) => listingText({ listing_id, ...offer }))
    .sort()
  const fake = await startFake(t, { items })
  return { market, gateway: await startGateway(t, [{ name: 'a', url: fake.url }]) }
}

test('prices: a gateway and a plain Registry order by price and apply a ceiling', async (t) => {
  const { market, gateway } = await openBoth(t)
  for (const service of [market, gateway]) {
    const byPrice = await rowsOf(service, 'sort=price&price_token=USDC')
    t.deepEqual(idsOf(byPrice).slice(0, 3), ['eight', 'dear', 'dearest'])
    t.deepEqual(idsOf(byPrice).slice(3).sort(), ['absurd', 'none', 'other'])
    t.deepEqual(byPrice[0]?._meta?.price, {
      chain: 'base',
      token: USDC,
      symbol: 'USDC',
      decimals: 6,
      value: '16800000',
      per: 'hour',
      unit: 'hour',
      gpus: 8,
      price_per: 'gpu',
      amount: '2.1',
    })
    t.like(byPrice[3]?._meta?.price, { gpus: null, price_per: 'offer', amount: '0.000001' })
    const uncompared = Object.fromEntries(byPrice.slice(4).map((row) => [row.listing_id, row._meta?.price]))
    t.is(uncompared.absurd, undefined)
    t.like(uncompared.other, { token: `0x${'c'.repeat(40)}`, amount: '1' })
    t.is(uncompared.other?.symbol, undefined)
    t.deepEqual(idsOf(await rowsOf(service, 'sort=price&price_token=base:usdc&offset=1&limit=2')), [
      'dear',
      'dearest',
    ])
    t.deepEqual(idsOf(await rowsOf(service, 'sort=price&price_per=offer')).slice(0, 4), [
      'none',
      'dear',
      'dearest',
      'eight',
    ])
    const unknown = (await rowsOf(service, 'sort=price')).find(({ listing_id }) => listing_id === 'other')
    t.deepEqual([unknown?._meta?.price?.amount, unknown?._meta?.price?.symbol], ['1', undefined])
    for (const sort of ['sort=price', 'sort=newest', ''])
      for (const [max, ids] of [
        ['2.10', ['eight']],
        ['2.099999', []],
        ['3', ['dear', 'eight']],
      ] as const)
        t.deepEqual(
          idsOf(await rowsOf(service, `${sort}&price_max=${max}&price_token=base:${USDC}`)).sort(),
          ids,
          max,
        )
  }
  const row = (await rowsOf(market, 'sort=price'))[0]
  t.deepEqual(Object.keys(row?._meta ?? {}), ['price'])
  t.deepEqual(
    (await rowsOf(market, 'sort=newest')).filter((one) => '_meta' in one),
    [],
  )
})

test('prices: a gateway prices every listing of pages, streams and look-ups, in the currency that leads', async (t) => {
  const [FREE, TEST, UNKNOWN] = [
    '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
    'base_sepolia',
    `0x${'c'.repeat(40)}`,
  ]
  const escrow = (value: string, { token = USDC, chain = 'base', per = 'hour' } = {}) => ({
    chain_name: chain,
    literal_fields: { token },
    rates: [{ field: 'amount', per, value }],
  })
  const offer = (...accepted_escrows: object[]) => ({
    offer_resource: { gpu_model: 'H200', gpu_count: 2 },
    accepted_escrows,
  })
  const offers = {
    lowest: offer(escrow('7000000'), escrow('5000000', { chain: 'ethereum', token: ETHEREUM_USDC })),
    hours: offer(escrow('1', { per: 'request' }), escrow('4000000')),
    worth: offer(
      escrow('1', { token: UNKNOWN }),
      escrow('1', { token: FREE, chain: TEST }),
      escrow('4000000'),
    ),
    known: offer(escrow('1', { token: UNKNOWN }), escrow('2000000', { token: FREE, chain: TEST })),
    first: offer(escrow('9', { token: UNKNOWN }), escrow('1', { token: `0x${'d'.repeat(40)}` })),
    none: offer(),
  }
  const expected = {
    lowest: ['2.5', 'USDC', 'ethereum'],
    hours: ['2', 'USDC', 'base'],
    worth: ['2', 'USDC', 'base'],
    known: ['1', 'USDC', TEST],
    first: ['5', UNKNOWN, 'base'],
    none: null,
  }
  const shownOf = (rows: readonly Row[]) =>
    Object.fromEntries(
      rows.map(({ listing_id, _meta }) => {
        const price = _meta?.price
        return [listing_id, price ? [price.amount, price.symbol ?? price.token, price.chain] : null]
      }),
    )
  const items = Object.entries(offers).map(([listing_id, one]) => listingText({ listing_id, ...one }))
  const fake = await startFake(t, { items: items.sort() })
  const gateway = await startGateway(t, [{ name: 'a', url: fake.url }])
  await whenReady(gateway)
  t.deepEqual(shownOf(await rowsOf(gateway, '')), expected)
  const { text } = await gateway.get('/listings', { accept: 'application/x-ndjson' })
  t.deepEqual(
    shownOf(
      text
        .trim()
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
    ),
    expected,
  )
  const { listing } = (await gateway.get('/listings/lowest')).json() as { listing: Row }
  t.deepEqual(shownOf([listing]), { lowest: expected.lowest })
  const perOffer = await rowsOf(gateway, 'sort=price&price_token=USDC&price_per=offer')
  t.like(shownOf(perOffer), { lowest: ['5', 'USDC', 'ethereum'], first: expected.first })
})

test('prices: an outlier is of a model in any spelling, in its own symbol, and of each price_per', async (t) => {
  const spellings = ['H200', 'NVIDIA H200 141GB', 'h200']
  const sold = (storefront: string, offer: object) => ({ storefront_url: `http://${storefront}/`, ...offer })
  const usual = Array.from({ length: 5 }, (_, n): [string, object] => [
    `usual-${n}`,
    sold(`seller-${n}`, {
      ...terms(String(2_000_000 + n)),
      offer_resource: { gpu_model: spellings[n % 3], gpu_count: 1 },
    }),
  ])
  const offers = Object.fromEntries<object>([
    ...usual,
    // The lower median of all seven is 2.000001.
    ['bait', sold('bait', terms('20000'))],
    ['least', sold('least', terms('20001'))],
    ['other', { ...terms('1'), offer_resource: { gpu_model: 'T4', gpu_count: 1 } }],
    ['token', terms('1', 1, `0x${'c'.repeat(40)}`)],
  ])
  const items = Object.entries(offers).map(([listing_id, one]) => listingText({ listing_id, ...one }))
  const fake = await startFake(t, { items: items.sort() })
  const gateway = await startGateway(t, [{ name: 'a', url: fake.url }])
  await whenReady(gateway)
  const markedIn = (rows: readonly Row[]) =>
    rows.flatMap(({ listing_id, _meta }) => (_meta?.price?.outlier === true ? listing_id : []))
  t.deepEqual(markedIn(await rowsOf(gateway, '')), ['bait'])
  const { text } = await gateway.get('/listings', { accept: 'application/x-ndjson' })
  t.deepEqual(markedIn(linesOf(text)), ['bait'])
  const { listing } = (await gateway.get('/listings/bait')).json() as { listing: Row }
  t.deepEqual(markedIn([listing]), ['bait'])
  const byPrice = await rowsOf(gateway, 'gpu=H200&sort=price&price_token=USDC&price_per=gb')
  t.deepEqual([idsOf(byPrice).at(-1), markedIn(byPrice)], ['bait', ['bait']])
  t.deepEqual(idsOf(await rowsOf(gateway, 'gpu=H200&price_token=USDC&price_max=0.02')), ['bait'])
  for (const per of ['gpu', 'offer', 'gb']) {
    const answer = (await gateway.get(`/facets?gpu=H200&prices_by=gpu&price_per=${per}`)).json() as Facets
    t.is(answer.outliers, 1, per)
    t.like(answer.prices[0], { symbol: 'USDC', offers: 6, outliers: 1 }, per)
    t.like(answer.facets.gpu?.values[0]?.prices[0], { offers: 6, outliers: 1 }, per)
    if (per !== 'gb') t.is(answer.prices[0]?.least, '0.020001', per)
    t.regex(answer.summary, /Not counted: 1 price below 1 %/, per)
  }
})

test('prices: with the offers of the leading price, what is not counted is all that matches, each with its reason', async (t) => {
  const offers = {
    dear: terms('3000000'),
    eight: terms('16800000', 8),
    both: {
      ...terms('2000000'),
      accepted_escrows: [
        ...terms('2000000').accepted_escrows,
        {
          chain_name: 'base',
          literal_fields: { token: `0x${'c'.repeat(40)}` },
          rates: { per: 'hour', value: '1' },
        },
      ],
    },
    strange: terms('1', 1, `0x${'c'.repeat(40)}`),
    test: { ...terms('2000000', 1, '0x036cbd53842c5426634e7929541ec2318f3dcf7e') },
    whole: { ...terms('3000000'), offer_resource: { gpu_model: 'H200' } },
    unreadable: terms('2.10'),
    absurd: terms('-1'),
    none: { offer_resource: { gpu_model: 'H200', gpu_count: 1 }, accepted_escrows: [] },
    credits: {
      ...terms('5'),
      accepted_escrows: [{ ...terms('5').accepted_escrows[0]!, rates: { per: 'token', value: '5' } }],
    },
  }
  offers.test.accepted_escrows[0]!.chain_name = 'base_sepolia'
  const items = Object.entries(offers).map(([listing_id, one]) => listingText({ listing_id, ...one }))
  const fake = await startFake(t, { items: items.sort() })
  const gateway = await startGateway(t, [{ name: 'a', url: fake.url }])
  const expected = { other: 2, testnet: 1, whole: 1, unreadable: 2, none: 1 }
  const answer = (await gateway.get('/facets')).json() as Facets & { total: number; not_counted: object }
  t.deepEqual(answer.not_counted, expected)
  for (const per of ['gpu', 'offer', 'gb', 'tflop']) {
    const { not_counted, prices, total } = (await gateway.get(`/facets?price_per=${per}`)).json() as {
      not_counted: Record<string, number>
      prices: { offers: number }[]
      total: number
    }
    const sum = Object.values(not_counted).reduce((all, one) => all + one, 0)
    t.is(prices[0]!.offers + sum, total, per)
  }
  t.regex(answer.summary, /of 3 of 10 listings/)
  const not =
    /Not counted: 1 price of test networks, 1 price of offers without GPUs, 2 prices in other units or tokens, 2 prices that cannot be read, 1 listing without a price\./
  t.regex(answer.summary, not)
  const agent = await agentAt(t, gateway.url)
  const overview = (await agent.call('market_overview')).text
  t.regex(overview, not)
  t.regex(overview, /10 listings match, with 16 GPUs in all\./)
  const table = (await runCli(['facets', '-r', gateway.url, '--table'])).stdout
  t.regex(table, not)
  t.regex(table, /16 GPUs in all\./)
  const { stdout } = await runCli(['listings', '-r', gateway.url, '--table'])
  t.regex(stdout, /^unreadable +not readable /m)
  t.regex(stdout, /^none +- /m)
  const sheet = async (id: string) => (await runCli(['listing', '-r', gateway.url, id, '--table'])).stdout
  t.regex(await sheet('absurd'), /^absurd {2}price not readable /)
  t.regex(await sheet('none'), /^none {2}no price advertised /)
})

test('prices: what makes an outlier is counted over all that a reader may see', async (t) => {
  const offers = (name: string, count: number, micros: number) =>
    Array.from({ length: count }, (_, n) =>
      listingText({
        listing_id: `${name}-${n}`,
        storefront_url: `http://${name}-${n}.example/`,
        ...terms(String(micros)),
      }),
    )
  const open = await startFake(t, { items: [...offers('a', 3, 2_000_000), ...offers('bait', 1, 1)] })
  const secret = await startFake(t, { items: offers('b', 2, 2_000_000) })
  const gateway = await startGateway(
    t,
    [
      { name: 'open', url: open.url },
      { name: 'secret', url: secret.url, settings: 'visibility = "private"' },
    ],
    { environment: { REGISTRY_ADMIN_API_KEY: 'admin' } },
  )
  await whenReady(gateway)
  const isMarked = async (headers: Record<string, string>) =>
    ((await gateway.get('/listings/bait-0', headers)).json() as { listing: Row }).listing._meta?.price
      ?.outlier === true
  t.false(await isMarked({}))
  t.true(await isMarked((await mintKey(gateway.url)).bearer))
})

test('prices: an outlier is marked where a source is held in part, in any view and beside an empty Registry', async (t) => {
  // The newest six fit, the bait among them.
  const items = Array.from({ length: 8 }, (_, n) =>
    listingText({
      listing_id: n === 0 ? 'bait' : `usual-${n}`,
      publisher_id: n,
      created_at: `2026-11-20T00:00:${50 - n}`,
      ...terms(n === 0 ? '1' : '2000000'),
    }),
  )
  const publishers = items.map((_, n) => [n, `0x${String(n).padStart(40, '0')}`] as const)
  const fake = await startFake(t, { items, publishers })
  const view = '[[views]]\nname = "away"\nsources = ["a"]\n[access]\nanonymous = "away"\n'
  for (const more of ['', view]) {
    const upstream = { name: 'a', url: fake.url, settings: 'max_listings = 6' }
    const rows = await rowsOf(await startGateway(t, [upstream], { more }), '')
    const marked = rows.filter(({ _meta }) => _meta?.price?.outlier === true)
    t.deepEqual(idsOf(marked), ['bait'])
  }
})

test('prices: under a ceiling, a listing counts with a price that is within it', async (t) => {
  const rate = (value: string, per: string) => ({ field: 'amount', per, value })
  const offer = (...rates: object[]) => ({
    offer_resource: { gpu_model: 'H200', gpu_count: 1 },
    accepted_escrows: [{ chain_name: 'base', literal_fields: { token: USDC }, rates }],
  })
  const offers = {
    dear: offer(rate('5000000', 'hour'), rate('10000', 'request')),
    cheap: offer(rate('2000000', 'hour'), rate('3000000', 'request')),
    tooDear: offer(rate('5000000', 'hour')),
  }
  const market = await openMarket(t)
  for (const [listing_id, one] of Object.entries(offers)) await market.publish({ listing_id, ...one })
  const items = Object.entries(offers).map(([listing_id, one]) => listingText({ listing_id, ...one }))
  const fake = await startFake(t, { items: items.sort() })
  const gateway = await startGateway(t, [{ name: 'a', url: fake.url }])
  for (const service of [market, gateway])
    for (const order of ['sort=price&', '']) {
      const rows = await rowsOf(service, `${order}price_token=USDC&price_max=2.10`)
      const prices = rows.map(({ listing_id, _meta }) => [
        listing_id,
        _meta?.price?.amount,
        _meta?.price?.unit,
      ])
      const expected = [
        ['cheap', '2', 'hour'],
        ['dear', '0.01', 'request'],
      ]
      t.deepEqual(order === '' ? prices.sort() : prices, expected)
    }
})

test('prices: a parameter that is wrong or would have no effect is 400 with what there is', async (t) => {
  const { market, gateway } = await openBoth(t)
  for (const { get } of [market, gateway])
    for (const [query, detail] of [
      ['sort=cheapest', /sort: .*newest or price/],
      ['sort=price&price_token=DAI', /price_token: .*base:USDC/],
      ['sort=price&price_token=FREE', /base:USDC/],
      ['sort=price&price_per=hour', /price_per: .*gpu, offer, gb or tflop/],
      ['price_token=USDC', /no effect without sort=price or price_max/],
      ['price_per=gpu', /no effect/],
      ['price_max=2.0000001&price_token=USDC', /at most 6 decimals/],
      ['price_max=-1&price_token=USDC', /price_max/],
      ['price_max=1e3&price_token=USDC', /price_max/],
    ] as const) {
      const { status, json } = await get(`/listings?${query}`)
      t.is(status, 400, query)
      t.regex(String(json().detail), detail)
    }
  for (const { get } of [market, gateway])
    for (const more of ['', '&testnet=true']) {
      const [meant, named] = [`price_max=100${more}`, `price_max=100&price_token=USDC${more}`]
      const idsOf = async (query: string): Promise<string[]> => {
        const { items } = (await get(`/listings?${query}`)).json() as { items: { listing_id: string }[] }
        return items.map(({ listing_id }) => listing_id)
      }
      const found = await idsOf(named)
      t.true(found.length > 0)
      t.deepEqual(await idsOf(meant), found, 'a ceiling without a token is in the first one of the table')
    }
})

test('prices: a cursor is bound to the order, the tokens and the ceiling', async (t) => {
  const { gateway } = await openBoth(t)
  const query = 'sort=price&price_token=USDC&price_max=100&limit=1'
  const cursor = String((await gateway.get(`/listings?${query}`)).json().next_cursor)
  t.deepEqual(idsOf(await rowsOf(gateway, `${query}&cursor=${cursor}`)), ['dear'])
  t.deepEqual(idsOf(await rowsOf(gateway, `${query.replace('limit=1', 'limit=9')}&cursor=${cursor}`)), [
    'dear',
    'dearest',
  ])
  for (const other of [
    'sort=price',
    'sort=newest',
    `${query}&price_per=offer`,
    query.replace('=100', '=99'),
  ]) {
    const { status, json } = await gateway.get(`/listings?${other}&cursor=${cursor}`)
    t.deepEqual([status, /cursor/.test(String(json().detail))], [400, true], other)
  }
  for (const [asked, other] of [
    ['sort=price&price_token=USDC&limit=1', 'limit=1'],
    ['sort=price&price_token=USDC&limit=1', 'sort=price&limit=1'],
    ['price_max=100&price_token=USDC&limit=1', 'price_max=99&price_token=USDC&limit=1'],
  ]) {
    const { next_cursor } = (await gateway.get(`/listings?${asked}`)).json()
    t.is((await gateway.get(`/listings?${asked}&cursor=${next_cursor}`)).status, 200, asked)
    t.is((await gateway.get(`/listings?${other}&cursor=${next_cursor}`)).status, 400, other)
  }
})

test('tokens: those of the gateway file are served, behind the read gate', async (t) => {
  const address = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'
  const toml = `[[tokens]]\nchain = "anvil"\naddress = "${address}"\nsymbol = "TEST"\ndecimals = 18\n`
  const own = await startRegistry(t, { toml })
  t.deepEqual((await own.get('/tokens')).json(), {
    tokens: [{ chain: 'anvil', address: address.toLowerCase(), symbol: 'TEST', decimals: 18 }],
  })
  const gated = await startRegistry(t, { environment: { REGISTRY_REQUIRE_READ_API_KEY: 'on' } })
  t.is((await gated.get('/tokens')).status, 401)
})

/** Listings of one seller each at 1 USDC an hour, and more of one seller, almost for nothing per made-up units. */
async function openJunkMarket(t: ExecutionContext, units: readonly string[]) {
  const rate = (per: string, value: string) => ({ field: 'amount', per, value })
  const accepted = (rates: object[]) => [{ chain_name: 'base', literal_fields: { token: USDC }, rates }]
  const good = await startFake(t, {
    items: Array.from({ length: 60 }, (_, n) =>
      listingText({
        listing_id: `good-${String(n).padStart(2, '0')}`,
        storefront_url: `https://seller-${n}.example/`,
        accepted_escrows: accepted([rate('hour', '1000000')]),
      }),
    ),
  })
  const junk = accepted(units.map((unit) => rate(unit, '1')))
  const bad = await startFake(t, { items: listingTexts('bad', 61, { accepted_escrows: junk }) })
  return startPatientGateway(t, [
    { name: 'good', url: good.url },
    { name: 'bad', url: bad.url, settings: 'priority = 99' },
  ])
}

const JUNK_UNITS: Record<string, readonly string[]> = {
  'as many words as there may be groups': Array.from({ length: 32 }, (_, n) => `unit-${n}`),
  'long texts': Array.from({ length: 6 }, (_, n) => `${n}`.padEnd(128, 'x')),
  'words and long texts': [
    '!',
    'two words',
    ...Array.from({ length: 30 }, (_, n) => `${n}${'é'.repeat(100)}`),
  ],
}

for (const [what, units] of Object.entries(JUNK_UNITS))
  test(`prices: made-up units displace no price by the hour: ${what}`, async (t) => {
    const gateway = await openJunkMarket(t, units)
    for (const query of ['sort=price&price_token=USDC', 'sort=price']) {
      const rows = await rowsOf(gateway, `${query}&limit=200`)
      t.is(rows.length, 121)
      const byHour = rows.slice(0, 60)
      t.true(
        byHour.every(({ listing_id }) => listing_id.startsWith('good')),
        query,
      )
      t.deepEqual(new Set(byHour.map(({ _meta }) => _meta?.price?.amount)), new Set(['1']), query)
    }
    const { prices } = (await gateway.get('/facets')).json() as { prices: Record<string, unknown>[] }
    t.like(
      prices.find(({ unit }) => unit === 'hour'),
      { symbol: 'USDC', offers: 60, least: '1' },
    )
    t.true(prices.length <= 32)
  })

test('prices: a price per a unit that is no word counts as none in an order, and for a ceiling as before', async (t) => {
  const gateway = await openJunkMarket(t, ['two words'])
  const rows = await rowsOf(gateway, 'sort=price&price_token=USDC&limit=200')
  const bad = rows.filter(({ listing_id }) => listing_id.startsWith('bad'))
  t.is(bad.length, 61)
  t.deepEqual(bad, rows.slice(-61))
  t.true(bad.every(({ _meta }) => _meta?.price?.unit === 'two words'))
  t.is((await rowsOf(gateway, 'price_token=USDC&price_max=0.5&limit=200')).length, 61)
})

test('prices: tokens of test networks count as their symbol only where a reader asks, and are marked', async (t) => {
  const accepted = (chain_name: string, token: string, value: string) => [
    { chain_name, literal_fields: { token }, rates: [{ field: 'amount', per: 'hour', value }] },
  ]
  const SEPOLIA = '0x036cbd53842c5426634e7929541ec2318f3dcf7e'
  const fake = await startFake(t, {
    items: [
      listingText({ listing_id: 'money', accepted_escrows: accepted('base', USDC, '2000000') }),
      listingText({ listing_id: 'play', accepted_escrows: accepted('base_sepolia', SEPOLIA, '1') }),
    ],
  })
  const { get } = await startPatientGateway(t, [{ name: 'up', url: fake.url }])
  type Priced = { detail?: string; items: { listing_id: string; _meta: { price?: { testnet?: true } } }[] }
  const read = async (query: string) => (await get(`/listings?${query}`)).json() as Priced
  const idsOf = ({ items }: Priced) => items.map(({ listing_id }) => listing_id)
  t.deepEqual(idsOf(await read('sort=price&price_token=USDC')), ['money', 'play'])
  t.is((await read('sort=price&price_token=USDC')).items[1]?._meta.price?.testnet, true)
  t.deepEqual(idsOf(await read('price_max=3&price_token=USDC')), ['money'])
  const both = await read('price_max=3&price_token=USDC&testnet=true&sort=price')
  t.deepEqual(idsOf(both), ['play', 'money'])
  t.is(both.items[0]?._meta.price?.testnet, true)
  t.deepEqual(idsOf(await read('price_max=3&price_token=base_sepolia:USDC')), ['play'])

  const token = `chain = "base_sepolia"\naddress = "${SEPOLIA}"\nsymbol = "USDC"\ndecimals = 6\ntestnet = true`
  const onlyPlay = await startRegistry(t, { toml: `[[tokens]]\n${token}\n` })
  const agent = await agentAt(t, onlyPlay.url)
  const cheapest = await agent.read('search_listings', { filters: { gpu: 'H200' } })
  t.false(cheapest.isError, cheapest.text)
  t.regex((await read('testnet=true')).detail ?? '', /testnet: has no effect without price_token/)
  const { prices } = (await get('/facets')).json() as {
    prices: { symbol: string; testnet?: true; offers: number }[]
  }
  t.deepEqual(
    prices.map(({ symbol, testnet, offers }) => [symbol, testnet, offers]),
    [
      ['USDC', undefined, 1],
      ['USDC', true, 1],
    ],
  )
})

test('prices: per GB of GPU memory and per TFLOP, by the tables of models', async (t) => {
  const offers = {
    h100: { gpu_model: 'NVIDIA H100 SXM5 80GB', gpu_count: 8 },
    l40s: { gpu_model: 'L40S', gpu_count: 1 },
    open: { gpu_model: 'A100', gpu_count: 1 },
    unknown: { gpu_model: 'Hopper big', gpu_count: 1 },
    uncounted: { gpu_model: 'H100' },
    ...Object.fromEntries(
      [1e-9, 1e-320, 0.0004, 4096].map((gpu_memory_gb) => [
        `hostile-${gpu_memory_gb}`,
        { gpu_model: 'Hopper big', gpu_count: 1, gpu_memory_gb },
      ]),
    ),
  }
  const items = Object.entries(offers).map(([listing_id, offer_resource], n) =>
    listingText({ listing_id, ...terms(n === 0 ? '16000000' : '960000'), offer_resource }),
  )
  const fake = await startFake(t, { items: items.sort() })
  const market = await openMarket(t)
  for (const item of items) await market.publish(JSON.parse(item))
  const sources = [{ name: 'held', url: fake.url, settings: 'refresh_seconds = 600' }]
  for (const service of [market, await startGateway(t, sources)]) {
    for (const source of service === market ? [''] : ['&sources=held']) {
      const pricesBy = async (query: string): Promise<unknown> =>
        (await rowsOf(service, `price_token=USDC&${query}${source}`)).map(({ listing_id, _meta }) => [
          listing_id,
          _meta?.price?.amount,
        ])
      const perGb = [
        ['l40s', '0.02'],
        ['open', '0.024'],
        ['h100', '0.025'],
      ]
      t.deepEqual(((await pricesBy('sort=price&price_per=gb')) as unknown[]).slice(0, 3), perGb)
      t.deepEqual(await pricesBy('price_max=0.021&price_per=gb'), [['l40s', '0.02']])
      t.deepEqual(((await pricesBy('sort=price&price_per=tflop')) as unknown[]).slice(0, 3), [
        ['h100', '0.002023'],
        ['l40s', '0.002652'],
        ['open', '0.003077'],
      ])
      const facets = (await service.get(`/facets?price_per=gb${source}`)).json()
      t.like((facets.prices as unknown[])[0], { price_per: 'gb', offers: 3, least: '0.02', most: '0.025' })
      t.is((facets.prices as unknown[]).length, 1)
    }
  }
})

test('prices: a token with other decimals on another chain compares as money', async (t) => {
  const BSC = '0x8ac76a51cc950d9822d68b83fe1ad97b32cd580d'
  const rows = [
    ['base', USDC, 6],
    ['bsc', BSC, 18],
  ].map(
    ([chain, address, decimals]) =>
      `[[tokens]]\nchain = "${chain}"\naddress = "${address}"\nsymbol = "USDC"\ndecimals = ${decimals}\n`,
  )
  const escrow = (chain_name: string, token: string, value: string) => ({
    chain_name,
    literal_fields: { token },
    rates: [{ field: 'amount', per: 'hour', value }],
  })
  const offer = (...accepted_escrows: object[]) => ({
    offer_resource: { gpu_model: 'H200', gpu_count: 3 },
    accepted_escrows,
  })
  const [base2, bsc1] = [escrow('base', USDC, '6000000'), escrow('bsc', BSC, '3000000000000000000')]
  const offers = {
    two: offer(base2),
    one: offer(bsc1),
    both: offer(escrow('bsc', BSC, '6300000000000000000'), base2),
    three: offer(escrow('base', USDC, '9000000')),
    third: offer(escrow('bsc', BSC, '1000000000000000000')),
  }
  const items = Object.entries(offers).map(([listing_id, one]) => listingText({ listing_id, ...one }))
  const fake = await startFake(t, { items: items.sort() })
  const upstream = { name: 'a', url: fake.url }
  const gateway = await startGateway(t, [upstream], { more: rows.join('') })
  await whenReady(gateway)
  const amounts = (all: readonly Row[]) =>
    all.map(({ listing_id, _meta }) => [listing_id, _meta?.price?.chain, _meta?.price?.amount])
  const expected = [
    ['third', 'bsc', '0.333333333333333334'],
    ['one', 'bsc', '1'],
    ['both', 'base', '2'],
    ['two', 'base', '2'],
    ['three', 'base', '3'],
  ]
  const order = 'sort=price&price_token=USDC'
  t.deepEqual(amounts(await rowsOf(gateway, order)), expected)
  t.deepEqual(amounts(await rowsOf(gateway, '')).sort(), expected.toSorted())
  const paged = [0, 1, 2, 3, 4].map((offset) => rowsOf(gateway, `${order}&limit=1&offset=${offset}`))
  t.deepEqual(amounts((await Promise.all(paged)).flat()), expected)
  t.deepEqual(idsOf(await rowsOf(gateway, `${order}&price_max=2`)), ['third', 'one', 'both', 'two'])
  t.deepEqual(idsOf(await rowsOf(gateway, `${order}&price_max=1.999999999999999999`)), ['third', 'one'])
  t.deepEqual(idsOf(await rowsOf(gateway, 'price_token=base:USDC&price_max=2&sort=price')), ['both', 'two'])
  const { prices } = (await gateway.get('/facets')).json() as { prices: object[] }
  t.deepEqual(prices, [
    {
      symbol: 'USDC',
      chains: [
        { chain: 'base', offers: 3 },
        { chain: 'bsc', offers: 3 },
      ],
      unit: 'hour',
      decimals: 18,
      price_per: 'gpu',
      offers: 5,
      gpus: 15,
      least: '0.333333333333333334',
      least_gpus: 3,
      median: '2',
      most: '3',
    },
  ])
})
