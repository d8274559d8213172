import test, { type ExecutionContext } from 'ava'
import { agentAt } from '../../../helpers/agent.ts'
import { escrow, USDC } from '../../../helpers/escrow.ts'
import { listingText, listingTexts } from '../../../helpers/fake-registry.ts'
import { startFake, startPatientGateway } from '../../../helpers/gateway.ts'
import { FIXED_TIME, openMarket } from '../../../helpers/market.ts'
import { type RunningService, startRegistry } from '../../../helpers/registry.ts'
import { runCli } from '../../../helpers/run-cli.ts'
import { mintKey } from '../../../helpers/seller.ts'

const ETHEREUM_USDC = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
const TEST_USDC = '0x036cbd53842c5426634e7929541ec2318f3dcf7e'
const UNKNOWN = `0x${'c'.repeat(40)}`

const offer = (gpu_count: unknown, ...accepted_escrows: object[]) => ({
  offer_resource: { gpu_model: 'H200', gpu_count },
  accepted_escrows,
})

const terms = (value: unknown, gpu_count: unknown = 1) => offer(gpu_count, escrow(value))

/** Two dear, one cheap per GPU, one in another token, and two that are no prices. */
const OFFERS = {
  dear: terms('3000000'),
  dearest: terms('9000000'),
  eight: terms('16800000', 8),
  other: offer(1, escrow('1', { token: UNKNOWN })),
  absurd: terms(`${10n ** 78n}`),
  none: terms('1', 0),
}

type Offers = Readonly<Record<string, object>>
type Row = { listing_id: string; _meta?: { price?: Record<string, unknown> } }
type Facets = Record<string, unknown> & { summary: string; total: number; prices: Record<string, unknown>[] }

const textsOf = (offers: Offers): string[] =>
  Object.entries(offers)
    .map(([listing_id, one]) => listingText({ listing_id, ...one }))
    .sort()

/** A gateway over a Registry with these offers. */
async function openGateway(t: ExecutionContext, offers: Offers, more = ''): Promise<RunningService> {
  const fake = await startFake(t, { items: textsOf(offers) })
  return startPatientGateway(t, [{ name: 'a', url: fake.url }], { more })
}

async function openBoth(t: ExecutionContext, offers: Offers = OFFERS) {
  const market = await openMarket(t)
  for (const [n, [listing_id, one]] of Object.entries(offers).entries())
    t.is((await market.publish({ listing_id, ...one }, FIXED_TIME - n)).status, 201)
  return { market, gateway: await openGateway(t, offers) }
}

async function rowsOf({ get }: RunningService, query: string): Promise<Row[]> {
  const { status, text, json } = await get(`/listings?${query}`)
  if (status !== 200) throw new Error(text)
  return json().items as Row[]
}

const facetsOf = async ({ get }: RunningService, query = ''): Promise<Facets> =>
  (await get(`/facets?${query}`)).json() as Facets

const idsOf = (rows: readonly Row[]): string[] => rows.map(({ listing_id }) => listing_id)

const markedIn = (rows: readonly Row[]): string[] =>
  idsOf(rows.filter(({ _meta }) => _meta?.price?.outlier === true))

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
    t.like(uncompared.other, { token: UNKNOWN, amount: '1' })
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
  const [unknown, free] = [{ token: UNKNOWN }, { token: TEST_USDC, chain: 'base_sepolia' }]
  const gateway = await openGateway(t, {
    lowest: offer(2, escrow('7000000'), escrow('5000000', { chain: 'ethereum', token: ETHEREUM_USDC })),
    hours: offer(2, escrow('1', { per: 'request' }), escrow('4000000')),
    worth: offer(2, escrow('1', unknown), escrow('1', free), escrow('4000000')),
    known: offer(2, escrow('1', unknown), escrow('2000000', free)),
    first: offer(2, escrow('9', unknown), escrow('1', { token: `0x${'d'.repeat(40)}` })),
    none: offer(2),
  })
  const expected = {
    lowest: ['2.5', 'USDC', 'ethereum'],
    hours: ['2', 'USDC', 'base'],
    worth: ['2', 'USDC', 'base'],
    known: ['1', 'USDC', 'base_sepolia'],
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
  t.deepEqual(shownOf(await rowsOf(gateway, '')), expected)
  const { text } = await gateway.get('/listings', { accept: 'application/x-ndjson' })
  const lines = text.trim().split('\n').slice(0, -1)
  t.deepEqual(shownOf(lines.map((line) => JSON.parse(line))), expected)
  const { listing } = (await gateway.get('/listings/lowest')).json() as { listing: Row }
  t.deepEqual(shownOf([listing]), { lowest: expected.lowest })
  const perOffer = await rowsOf(gateway, 'sort=price&price_token=USDC&price_per=offer')
  t.like(shownOf(perOffer), { lowest: ['5', 'USDC', 'ethereum'], first: expected.first })
})

test('prices: an outlier is of a model in any spelling, in its own symbol, and of each price_per', async (t) => {
  const spellings = ['H200', 'NVIDIA H200 141GB', 'h200']
  const sold = (seller: string, value: string, gpu_model = 'H200') => ({
    ...terms(value),
    storefront_url: `http://${seller}/`,
    offer_resource: { gpu_model, gpu_count: 1 },
  })
  const usual = Array.from({ length: 5 }, (_, n): [string, object] => [
    `usual-${n}`,
    sold(`seller-${n}`, String(2_000_000 + n), spellings[n % 3]),
  ])
  const gateway = await openGateway(t, {
    ...Object.fromEntries(usual),
    // The lower median of all seven is 2.000001.
    bait: sold('bait', '20000'),
    least: sold('least', '20001'),
    other: sold('other', '1', 'T4'),
    token: offer(1, escrow('1', { token: UNKNOWN })),
  })
  t.deepEqual(markedIn(await rowsOf(gateway, '')), ['bait'])
  const byPrice = await rowsOf(gateway, 'gpu=H200&sort=price&price_token=USDC&price_per=gb')
  t.deepEqual([idsOf(byPrice).at(-1), markedIn(byPrice)], ['bait', ['bait']])
  t.deepEqual(idsOf(await rowsOf(gateway, 'gpu=H200&price_token=USDC&price_max=0.02')), ['bait'])
  for (const per of ['gpu', 'offer', 'gb']) {
    const answer = await facetsOf(gateway, `gpu=H200&prices_by=gpu&price_per=${per}`)
    t.is(answer.outliers, 1, per)
    const { gpu } = answer.facets as Record<string, { values: { prices: object[] }[] }>
    for (const prices of [answer.prices[0], gpu?.values[0]?.prices[0]])
      t.like(prices, { symbol: 'USDC', offers: 6, outliers: 1 }, per)
    if (per !== 'gb') t.is(answer.prices[0]?.least, '0.020001', per)
  }
})

test('prices: what makes an outlier is counted over all that a reader may see', async (t) => {
  const offers = (name: string, count: number, value: string) =>
    Array.from({ length: count }, (_, n) =>
      listingText({
        listing_id: `${name}-${n}`,
        storefront_url: `http://${name}-${n}.example/`,
        ...terms(value),
      }),
    )
  const open = await startFake(t, { items: [...offers('a', 3, '2000000'), ...offers('bait', 1, '1')] })
  const secret = await startFake(t, { items: offers('b', 2, '2000000') })
  const gateway = await startPatientGateway(
    t,
    [
      { name: 'open', url: open.url },
      { name: 'secret', url: secret.url, settings: 'visibility = "private"' },
    ],
    { environment: { REGISTRY_ADMIN_API_KEY: 'admin' } },
  )
  const markedFor = async (headers: Record<string, string>) =>
    markedIn((await gateway.get('/listings', headers)).json().items as Row[])
  t.deepEqual(await markedFor({}), [])
  t.deepEqual(await markedFor((await mintKey(gateway.url)).bearer), ['bait-0'])
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
    t.deepEqual(markedIn(await rowsOf(await startPatientGateway(t, [upstream], { more }), '')), ['bait'])
  }
})

test('prices: with the offers of the leading price, what is not counted is all that matches, each with its reason', async (t) => {
  const gateway = await openGateway(t, {
    dear: terms('3000000'),
    eight: terms('16800000', 8),
    both: offer(1, escrow('2000000'), escrow('1', { token: UNKNOWN })),
    strange: offer(1, escrow('1', { token: UNKNOWN })),
    test: offer(1, escrow('2000000', { chain: 'base_sepolia', token: TEST_USDC })),
    whole: { ...terms('3000000'), offer_resource: { gpu_model: 'H200' } },
    unreadable: terms('2.10'),
    absurd: terms('-1'),
    none: offer(1),
    credits: offer(1, escrow('5', { per: 'token' })),
  })
  const { not_counted, summary } = await facetsOf(gateway)
  t.deepEqual(not_counted, { other: 2, testnet: 1, whole: 1, unreadable: 2, none: 1 })
  for (const per of ['gpu', 'offer', 'gb', 'tflop']) {
    const { not_counted, prices, total } = await facetsOf(gateway, `price_per=${per}`)
    const sum = Object.values(not_counted as Record<string, number>).reduce((all, one) => all + one, 0)
    t.is(Number(prices[0]!.offers) + sum, total, per)
  }
  t.regex(summary, /of 3 of 10 listings/)
  t.regex(
    summary,
    /Not counted: 1 price of test networks, 1 price of offers without GPUs, 2 prices in other units or tokens, 2 prices that cannot be read, 1 listing without a price\./,
  )
  const table = (await runCli(['listings', '-r', gateway.url, '--table'])).stdout
  t.regex(table, /^unreadable +not readable /m)
  t.regex(table, /^none +- /m)
})

test('prices: under a ceiling, a listing counts with a price that is within it', async (t) => {
  const { market, gateway } = await openBoth(t, {
    dear: offer(1, escrow('5000000'), escrow('10000', { per: 'request' })),
    cheap: offer(1, escrow('2000000'), escrow('3000000', { per: 'request' })),
    tooDear: terms('5000000'),
  })
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
  for (const service of [market, gateway])
    for (const more of ['', '&testnet=true']) {
      const found = idsOf(await rowsOf(service, `price_max=100&price_token=USDC${more}`))
      t.true(found.length > 0)
      const meant = idsOf(await rowsOf(service, `price_max=100${more}`))
      t.deepEqual(meant, found, 'a ceiling without a token is in the first one of the table')
    }
})

test('prices: a cursor is bound to the order, the tokens and the ceiling', async (t) => {
  const { gateway } = await openBoth(t)
  const query = 'sort=price&price_token=USDC&price_max=100'
  for (const [asked, ...others] of [
    [query, 'sort=price', 'sort=newest', `${query}&price_per=offer`, query.replace('=100', '=99')],
    ['sort=price&price_token=USDC', '', 'sort=price'],
    ['price_max=100&price_token=USDC', 'price_max=99&price_token=USDC'],
  ] as const) {
    const first = (await gateway.get(`/listings?${asked}&limit=1`)).json()
    const continued = await rowsOf(gateway, `${asked}&limit=9&cursor=${first.next_cursor}`)
    t.deepEqual(
      idsOf([...(first.items as Row[]), ...continued]),
      idsOf(await rowsOf(gateway, `${asked}&limit=9`)),
    )
    for (const other of others) {
      const { status, json } = await gateway.get(`/listings?${other}&cursor=${first.next_cursor}`)
      t.deepEqual([status, /cursor/.test(String(json().detail))], [400, true], other)
    }
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
  const good = await startFake(t, {
    items: Array.from({ length: 60 }, (_, n) =>
      listingText({
        listing_id: `good-${String(n).padStart(2, '0')}`,
        storefront_url: `https://seller-${n}.example/`,
        accepted_escrows: [escrow('1000000')],
      }),
    ),
  })
  const rates = units.map((per) => ({ field: 'amount', per, value: '1' }))
  const junk = [{ ...escrow('1'), rates }]
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
    const { prices } = await facetsOf(gateway)
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
  const gateway = await openGateway(t, {
    money: terms('2000000'),
    play: offer(1, escrow('1', { chain: 'base_sepolia', token: TEST_USDC })),
  })
  const inAll = await rowsOf(gateway, 'sort=price&price_token=USDC')
  t.deepEqual(idsOf(inAll), ['money', 'play'])
  t.is(inAll[1]?._meta?.price?.testnet, true)
  for (const [query, ids] of [
    ['price_token=USDC', ['money']],
    ['price_token=USDC&testnet=true&sort=price', ['play', 'money']],
    ['price_token=base_sepolia:USDC', ['play']],
  ] as const)
    t.deepEqual(idsOf(await rowsOf(gateway, `price_max=3&${query}`)), ids)
  const { detail } = (await gateway.get('/listings?testnet=true')).json()
  t.regex(String(detail), /testnet: has no effect without price_token/)
  t.deepEqual(
    (await facetsOf(gateway)).prices.map(({ symbol, testnet, offers }) => [symbol, testnet, offers]),
    [
      ['USDC', undefined, 1],
      ['USDC', true, 1],
    ],
  )

  const token = `chain = "base_sepolia"\naddress = "${TEST_USDC}"\nsymbol = "USDC"\ndecimals = 6\ntestnet = true`
  const onlyPlay = await startRegistry(t, { toml: `[[tokens]]\n${token}\n` })
  const cheapest = await (await agentAt(t, onlyPlay.url)).read('search_listings', {
    filters: { gpu: 'H200' },
  })
  t.false(cheapest.isError, cheapest.text)
})

test('prices: per GB of GPU memory and per TFLOP, by the tables of models', async (t) => {
  const priced = (offer_resource: object, value = '960000') => ({ ...terms(value), offer_resource })
  const { market, gateway } = await openBoth(t, {
    h100: priced({ gpu_model: 'NVIDIA H100 SXM5 80GB', gpu_count: 8 }, '16000000'),
    l40s: priced({ gpu_model: 'L40S', gpu_count: 1 }),
    open: priced({ gpu_model: 'A100', gpu_count: 1 }),
    unknown: priced({ gpu_model: 'Hopper big', gpu_count: 1 }),
    uncounted: priced({ gpu_model: 'H100' }),
    ...Object.fromEntries(
      [1e-9, 1e-320, 0.0004, 4096].map((gpu_memory_gb) => [
        `hostile-${gpu_memory_gb}`,
        priced({ gpu_model: 'Hopper big', gpu_count: 1, gpu_memory_gb }),
      ]),
    ),
  })
  for (const service of [market, gateway]) {
    const pricesBy = async (query: string) =>
      (await rowsOf(service, `price_token=USDC&${query}`))
        .slice(0, 3)
        .map(({ listing_id, _meta }) => [listing_id, _meta?.price?.amount])
    t.deepEqual(await pricesBy('sort=price&price_per=gb'), [
      ['l40s', '0.02'],
      ['open', '0.024'],
      ['h100', '0.025'],
    ])
    t.deepEqual(await pricesBy('price_max=0.021&price_per=gb'), [['l40s', '0.02']])
    t.deepEqual(await pricesBy('sort=price&price_per=tflop'), [
      ['h100', '0.002023'],
      ['l40s', '0.002652'],
      ['open', '0.003077'],
    ])
    const { prices } = await facetsOf(service, 'price_per=gb')
    t.like(prices[0], { price_per: 'gb', offers: 3, least: '0.02', most: '0.025' })
    t.is(prices.length, 1)
  }
})

test('prices: a token with other decimals on another chain compares as money', async (t) => {
  const BSC = '0x8ac76a51cc950d9822d68b83fe1ad97b32cd580d'
  const tokens = [
    ['base', USDC, 6],
    ['bsc', BSC, 18],
  ].map(
    ([chain, address, decimals]) =>
      `[[tokens]]\nchain = "${chain}"\naddress = "${address}"\nsymbol = "USDC"\ndecimals = ${decimals}\n`,
  )
  const onBsc = (value: string) => escrow(value, { chain: 'bsc', token: BSC })
  const offers = {
    two: terms('6000000', 3),
    one: offer(3, onBsc('3000000000000000000')),
    both: offer(3, onBsc('6300000000000000000'), escrow('6000000')),
    three: terms('9000000', 3),
    third: offer(3, onBsc('1000000000000000000')),
  }
  const gateway = await openGateway(t, offers, tokens.join(''))
  const order = 'sort=price&price_token=USDC'
  t.deepEqual(
    (await rowsOf(gateway, order)).map(({ listing_id, _meta }) => [
      listing_id,
      _meta?.price?.chain,
      _meta?.price?.amount,
    ]),
    [
      ['third', 'bsc', '0.333333333333333334'],
      ['one', 'bsc', '1'],
      ['both', 'base', '2'],
      ['two', 'base', '2'],
      ['three', 'base', '3'],
    ],
  )
  t.deepEqual(idsOf(await rowsOf(gateway, `${order}&price_max=2`)), ['third', 'one', 'both', 'two'])
  t.deepEqual(idsOf(await rowsOf(gateway, `${order}&price_max=1.999999999999999999`)), ['third', 'one'])
  t.deepEqual(idsOf(await rowsOf(gateway, 'price_token=base:USDC&price_max=2&sort=price')), ['both', 'two'])
  t.deepEqual((await facetsOf(gateway)).prices, [
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
