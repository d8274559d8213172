import test, { type ExecutionContext } from 'ava'
import { agentAt } from '../../../helpers/agent.ts'
import { escrow, USDC } from '../../../helpers/escrow.ts'
import { listingText } from '../../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../../helpers/gateway.ts'
import { openMarket } from '../../../helpers/market.ts'
import { type RunningService, startRegistry } from '../../../helpers/registry.ts'
import { runCli } from '../../../helpers/run-cli.ts'
import { mintKey } from '../../../helpers/seller.ts'

const ETHEREUM_USDC = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
const SEPOLIA_USDC = '0x036cbd53842c5426634e7929541ec2318f3dcf7e'
const UNKNOWN = `0x${'c'.repeat(40)}`

const offer = (gpu_count: unknown, ...accepted_escrows: object[]) => ({
  offer_resource: { gpu_model: 'H200', gpu_count },
  accepted_escrows,
})
const terms = (value: unknown, gpu_count: unknown = 1, token = USDC) =>
  offer(gpu_count, escrow(value, { token }))

/** Two dear, one cheap per GPU, one in another token, and two that are no prices. */
const OFFERS = {
  dear: terms('3000000'),
  dearest: terms('9000000'),
  eight: terms('16800000', 8),
  other: terms('1', 1, UNKNOWN),
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

/** A gateway over a Registry with these listings, by their ids. */
async function openGateway(
  t: ExecutionContext,
  offers: Record<string, object>,
  options?: Parameters<typeof startGateway>[2],
) {
  const items = Object.entries(offers).map(([listing_id, one]) => listingText({ listing_id, ...one }))
  const { url } = await startFake(t, { items: items.sort() })
  return startGateway(t, [{ name: 'a', url }], options)
}

async function openBoth(t: ExecutionContext, offers: Record<string, object> = OFFERS) {
  const market = await openMarket(t)
  for (const [listing_id, one] of Object.entries(offers)) await market.publish({ listing_id, ...one })
  return { market, gateway: await openGateway(t, offers) }
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
  const play = escrow('1', { token: SEPOLIA_USDC, chain: 'base_sepolia' })
  const unknown = escrow('1', { token: UNKNOWN })
  const offers = {
    lowest: offer(2, escrow('7000000'), escrow('5000000', { chain: 'ethereum', token: ETHEREUM_USDC })),
    hours: offer(2, escrow('1', { per: 'request' }), escrow('4000000')),
    worth: offer(2, unknown, play, escrow('4000000')),
    known: offer(2, unknown, escrow('2000000', { token: SEPOLIA_USDC, chain: 'base_sepolia' })),
    first: offer(2, escrow('9', { token: UNKNOWN }), escrow('1', { token: `0x${'d'.repeat(40)}` })),
    none: offer(2),
  }
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
  const gateway = await openGateway(t, offers)
  t.deepEqual(shownOf(await rowsOf(gateway, '')), expected)
  const { text } = await gateway.get('/listings', { accept: 'application/x-ndjson' })
  t.deepEqual(shownOf(linesOf(text)), expected)
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
    ['token', terms('1', 1, UNKNOWN)],
  ])
  const gateway = await openGateway(t, offers)
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
    both: offer(1, escrow('2000000'), escrow('1', { token: UNKNOWN })),
    strange: terms('1', 1, UNKNOWN),
    test: offer(1, escrow('2000000', { token: SEPOLIA_USDC, chain: 'base_sepolia' })),
    whole: offer(undefined, escrow('3000000')),
    unreadable: terms('2.10'),
    absurd: terms('-1'),
    none: offer(1),
    credits: offer(1, escrow('5', { per: 'token' })),
  }
  const gateway = await openGateway(t, offers)
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
  const perRequest = (value: string) => escrow(value, { per: 'request' })
  const { market, gateway } = await openBoth(t, {
    dear: offer(1, escrow('5000000'), perRequest('10000')),
    cheap: offer(1, escrow('2000000'), perRequest('3000000')),
    tooDear: offer(1, escrow('5000000')),
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
  const bound = 'sort=price&price_token=USDC&price_max=100&limit=1'
  for (const [asked, ...others] of [
    [bound, 'sort=price', 'sort=newest', `${bound}&price_per=offer`, bound.replace('=100', '=99')],
    ['sort=price&price_token=USDC&limit=1', 'limit=1', 'sort=price&limit=1'],
    ['price_max=100&price_token=USDC&limit=1', 'price_max=99&price_token=USDC&limit=1'],
  ] as const) {
    const cursor = `&cursor=${(await gateway.get(`/listings?${asked}`)).json().next_cursor}`
    t.is((await rowsOf(gateway, asked + cursor)).length, 1, asked)
    for (const other of others) {
      const { status, json } = await gateway.get(`/listings?${other}${cursor}`)
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

test('prices: made-up units displace no price by the hour', async (t) => {
  // As many as there may be groups, almost for nothing, of one seller with more listings than all others.
  const units = Array.from({ length: 32 }, (_, n) => escrow('1', { per: `unit-${n}` }))
  const good = Array.from({ length: 6 }, (_, n) => [
    `good-${n}`,
    { ...terms('1000000'), storefront_url: `https://seller-${n}.example/` },
  ])
  const bad = Array.from({ length: 7 }, (_, n) => [`bad-${n}`, offer(1, ...units)])
  const gateway = await openGateway(t, Object.fromEntries([...good, ...bad]))
  for (const query of ['sort=price&price_token=USDC', 'sort=price']) {
    const ids = idsOf(await rowsOf(gateway, query))
    t.is(ids.length, 13)
    t.true(
      ids.slice(0, 6).every((id) => id.startsWith('good')),
      query,
    )
  }
  const { prices } = (await gateway.get('/facets')).json() as { prices: { unit: string }[] }
  t.true(prices.some(({ unit }) => unit === 'hour'))
  t.true(prices.length <= 32)
})

test('prices: a price per a unit that is no word counts as none in an order, and for a ceiling as before', async (t) => {
  const offers = { good: terms('1000000'), bad: offer(1, escrow('1', { per: 'two words' })) }
  const gateway = await openGateway(t, offers)
  const rows = await rowsOf(gateway, 'sort=price&price_token=USDC')
  t.deepEqual(idsOf(rows), ['good', 'bad'])
  t.is(rows[1]?._meta?.price?.unit, 'two words')
  t.deepEqual(idsOf(await rowsOf(gateway, 'price_token=USDC&price_max=0.5')), ['bad'])
  const { prices } = (await gateway.get('/facets')).json() as { prices: object[] }
  t.is(prices.length, 1)
})

test('prices: tokens of test networks count as their symbol only where a reader asks, and are marked', async (t) => {
  const gateway = await openGateway(t, {
    money: terms('2000000'),
    play: offer(1, escrow('1', { token: SEPOLIA_USDC, chain: 'base_sepolia' })),
  })
  const read = (query: string) => rowsOf(gateway, query)
  t.deepEqual(idsOf(await read('sort=price&price_token=USDC')), ['money', 'play'])
  t.is((await read('sort=price&price_token=USDC'))[1]?._meta?.price?.testnet, true)
  t.deepEqual(idsOf(await read('price_max=3&price_token=USDC')), ['money'])
  const both = await read('price_max=3&price_token=USDC&testnet=true&sort=price')
  t.deepEqual(idsOf(both), ['play', 'money'])
  t.is(both[0]?._meta?.price?.testnet, true)
  t.deepEqual(idsOf(await read('price_max=3&price_token=base_sepolia:USDC')), ['play'])

  const token = `chain = "base_sepolia"\naddress = "${SEPOLIA_USDC}"\nsymbol = "USDC"\ndecimals = 6\ntestnet = true`
  const onlyPlay = await startRegistry(t, { toml: `[[tokens]]\n${token}\n` })
  const agent = await agentAt(t, onlyPlay.url)
  const cheapest = await agent.read('search_listings', { filters: { gpu: 'H200' } })
  t.false(cheapest.isError, cheapest.text)
  t.regex(
    String((await gateway.get('/listings?testnet=true')).json().detail),
    /testnet: has no effect without price_token/,
  )
  const { prices } = (await gateway.get('/facets')).json() as {
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
  const models = {
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
  const offers = Object.fromEntries(
    Object.entries(models).map(([id, offer_resource]) => {
      return [id, { ...terms(id === 'h100' ? '16000000' : '960000'), offer_resource }]
    }),
  )
  for (const service of Object.values(await openBoth(t, offers))) {
    const pricesBy = async (query: string) =>
      (await rowsOf(service, `price_token=USDC&${query}`)).map(({ listing_id, _meta }) => [
        listing_id,
        _meta?.price?.amount,
      ])
    t.deepEqual((await pricesBy('sort=price&price_per=gb')).slice(0, 3), [
      ['l40s', '0.02'],
      ['open', '0.024'],
      ['h100', '0.025'],
    ])
    t.deepEqual(await pricesBy('price_max=0.021&price_per=gb'), [['l40s', '0.02']])
    t.deepEqual((await pricesBy('sort=price&price_per=tflop')).slice(0, 3), [
      ['h100', '0.002023'],
      ['l40s', '0.002652'],
      ['open', '0.003077'],
    ])
    const { prices } = (await service.get('/facets?price_per=gb')).json() as { prices: object[] }
    t.is(prices.length, 1)
    t.like(prices[0], { price_per: 'gb', offers: 3, least: '0.02', most: '0.025' })
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
  const onBsc = (value: string) => escrow(value, { chain: 'bsc', token: BSC })
  const base2 = escrow('6000000')
  const offers = {
    two: offer(3, base2),
    one: offer(3, onBsc('3000000000000000000')),
    both: offer(3, onBsc('6300000000000000000'), base2),
    three: offer(3, escrow('9000000')),
    third: offer(3, onBsc('1000000000000000000')),
  }
  const gateway = await openGateway(t, offers, { more: rows.join('') })
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
