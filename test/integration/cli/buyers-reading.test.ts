import test from 'ava'
import type { Interceptor } from '../../../src/upstream/http/request.ts'
import { startRegistry } from '../../helpers/registry.ts'
import { runCli, temporaryFile } from '../../helpers/run-cli.ts'
import { AS_ALICE } from '../../helpers/seller.ts'

const USDC = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'
const ESCROW = '0x2b5ad5c4795c026514f8317c7a215e218dccd6cf'
const TEST_USDC = '0x036cbd53842c5426634e7929541ec2318f3dcf7e'

/** A listing as a seller writes it, with one part of it written otherwise. */
function listingWith(wrong: string, right = wrong): string {
  const listing = `- listing_id: gpu-1
  storefront_url: https://seller.example/
  offer_resource:
    gpu_model: H200
    gpu_count: 8
    region: Frankfurt, DE
  accepted_escrows:
    - chain_name: base
      escrow_address: "${ESCROW}"
      literal_fields: { token: "${USDC}" }
      rates:
        - { field: amount, per: hour, value: "16800000" }
`
  const changed = listing.replace(right, () => wrong)
  if (changed === listing && right !== wrong) throw new Error(`the listing has no ${right}`)
  return changed
}

const NO_PRICE = 'no buyer finds it by its price: '

/** What is written, in place of what, and the line that refuses it. */
const MISTAKES: readonly (readonly [written: string, right: string, line: string])[] = [
  [
    '"17"',
    '"16800000"',
    '12: gpu-1: its price of 0.000003 USDC is below 1 % of the median of H200, 2.1: a value counts base units, of which one USDC has 10^6',
  ],
  ['"16.80"', '"16800000"', `12: gpu-1: ${NO_PRICE}the value "16.80" is not a whole number of base units`],
  ['huor', 'hour', `12: gpu-1: ${NO_PRICE}'huor' is not a known unit; did you mean hour?`],
  ['bsae', 'base', `8: gpu-1: ${NO_PRICE}'bsae' is not a known chain; did you mean base?`],
  [
    'zork',
    'base',
    `8: gpu-1: ${NO_PRICE}'zork' is not a known chain of this Registry: known are base, base_sepolia, ethereum, ethereum_mainnet, ethereum_sepolia, fiat.stripe.v1`,
  ],
  [
    USDC.replace('8335', '8353'),
    USDC,
    `10: gpu-1: ${NO_PRICE}${USDC.replace('8335', '8353')} on base is not a known token; did you mean ${USDC}?`,
  ],
  ['USDC', USDC, `10: gpu-1: ${NO_PRICE}usdc on base is not a known token; did you mean ${USDC}?`],
  ['H2O0', 'H200', "4: gpu-1: filters by model miss it: 'H2O0' is not a known model; did you mean H200?"],
  [
    'Frankfrut',
    'Frankfurt, DE',
    "6: gpu-1: filters by country miss it: 'Frankfrut' names no known country; did you mean Frankfurt, DE?",
  ],
  [
    'gpu_cuont',
    'gpu_count',
    '5: gpu-1: offer_resource.gpu_cuont: not in the listing shape; did you mean gpu_count?',
  ],
  [ESCROW.slice(0, -1), ESCROW, `9: gpu-1: '${ESCROW.slice(0, -1)}' is not 0x and 40 hexadecimal digits`],
  [
    'oracle_address: seller.eth\n  offer_resource:',
    'offer_resource:',
    "3: gpu-1: 'seller.eth' is not 0x and 40 hexadecimal digits",
  ],
  [
    'offer_resuorce',
    'offer_resource',
    "3: gpu-1: Registries ignore 'offer_resuorce'; did you mean offer_resource?",
  ],
  [
    'storefront_url: 5',
    'storefront_url: https://seller.example/',
    '2: gpu-1: storefront_url must be a string',
  ],
]

/** What Registries, filters and prices do not know, and resembles nothing that they know. */
const DOUBTS: readonly (readonly [written: string, right: string, line: string])[] = [
  ['Hopper big', 'H200', "4: gpu-1: filters by model miss it: 'Hopper big' is not a known model"],
  ['MON1', 'Frankfurt, DE', "6: gpu-1: filters by country miss it: 'MON1' names no known country"],
  [
    'Frankfurt',
    'Frankfurt, DE',
    "6: gpu-1: filters by country miss it: 'Frankfurt' names no known country; did you mean Frankfurt, DE?",
  ],
  [TEST_USDC, USDC, `10: gpu-1: ${NO_PRICE}${TEST_USDC} on base is not a known token`],
  ['0x12', USDC, `10: gpu-1: ${NO_PRICE}0x12 on base is not a known token`],
]

test('publish: what looks like a mistake is refused with its line and what may be meant', async (t) => {
  const { url, get } = await startRegistry(t)
  const publish = (yaml: string, ...options: string[]) =>
    runCli(['publish', temporaryFile(t, 'l.yaml', yaml), '-r', url, ...options], { env: AS_ALICE })
  const others = [1, 2, 3, 4, 5].map((n) => listingWith(`other-${n}`, 'gpu-1'))
  t.is((await publish(others.join(''))).code, 0)
  for (const [written, right, line] of MISTAKES) {
    const { code, stderr, stdout } = await publish(listingWith(written, right))
    t.deepEqual([code, stdout], [65, ''], written)
    t.true(stderr.includes(`l.yaml:${line}\n`), `${line}\n${stderr}`)
  }
  t.is((await get('/listings/gpu-1')).status, 404)
  for (const [written, right, line] of DOUBTS) {
    const { code, stderr } = await publish(listingWith(written, right))
    t.is(code, 0, stderr)
    t.true(stderr.includes(`l.yaml:${line}\n`), `${line}\n${stderr}`)
  }
  const asIs = await publish(listingWith('bsae', 'base'), '--as-is')
  t.is(asIs.code, 0)
  t.regex(asIs.stderr, /warning: .*l\.yaml:8: gpu-1: .*did you mean base\?/)
})

test('publish: a storefront that buyers cannot reach is named with its line, but where the Registry is as near', async (t) => {
  const { url } = await startRegistry(t)
  const atRegistry: Interceptor = (dispatch) => (options, handler) =>
    dispatch({ ...options, origin: url }, handler)
  const far = 'http://registry.example'
  const publish = (storefront: string, registry: string) => {
    const yaml = listingWith(storefront, 'https://seller.example/')
    const args = ['publish', temporaryFile(t, 'l.yaml', yaml), '-r', registry]
    return runCli(args, { env: AS_ALICE, interceptors: [atRegistry] })
  }
  for (const [storefront, line] of [
    ['http://localhost:3000/', 'its address is private'],
    ['https://10.0.0.5/', 'its address is private'],
    ['https://[::1]/', 'its address is private'],
    ['http://seller.example/', 'over TLS'],
    ['https://seller.example/', null],
  ] as const) {
    const { code, stderr } = await publish(storefront, far)
    t.is(code, 0, stderr)
    const found = stderr.split('\n').filter((text) => text.includes('buyers cannot reach'))
    t.is(found.length, line === null ? 0 : 1, stderr)
    if (line !== null) t.regex(found[0]!, /warning: .*l\.yaml:2: gpu-1: buyers cannot reach http/)
    t.true(line === null || found[0]!.includes(line), stderr)
    const near = await publish(storefront, url)
    t.notRegex(near.stderr, /buyers cannot reach/)
  }
})

const VALUE = ', value: "16800000" }'
const priced = (price: string, { rate = ' }' } = {}) => `${listingWith(rate, VALUE)}  price: ${price}\n`

test('publish: a price in words is the value of the escrows in its token and unit that have none', async (t) => {
  const { url, get } = await startRegistry(t)
  const publish = (yaml: string) =>
    runCli(['publish', temporaryFile(t, 'l.yaml', yaml), '-r', url], { env: AS_ALICE })
  for (const [price, value] of [
    ['2.10 USDC per GPU-hour', '16800000'],
    ['16.80 usdc per hour', '16800000'],
    ['"2 USDC per GPU-hour"', '16000000'],
    ['1.000001 USDC per hour', '1000001'],
  ] as const) {
    const { code, stderr } = await publish(priced(price))
    t.is(code, 0, stderr)
    const { listing } = (await get('/listings/gpu-1')).json() as { listing: { accepted_escrows: unknown[] } }
    t.like(listing.accepted_escrows, [{ rates: [{ field: 'amount', per: 'hour', value }] }])
    t.false('price' in listing)
  }
  const form = "price must be as in '2.10 USDC per GPU-hour' or '16.80 USDC per hour'"
  const noPlace = (symbol: string, per: string) =>
    `price has no place: no escrow in ${symbol} has a rate per ${per} without a value; write rates: [{ field: amount, per: ${per} }]`
  for (const [yaml, message] of [
    [priced('2.10'), form],
    [priced('2,10 USDC per GPU-hour'), form],
    [priced('2.10 EURC per GPU-hour'), noPlace('EURC', 'hour')],
    [priced('2.10 USDC per GPU-day'), noPlace('USDC', 'day')],
    [priced('2.10 USDC per GPU-hour', { rate: VALUE }), noPlace('USDC', 'hour')],
    [priced('0.0000001 USDC per hour'), 'price has more than the 6 decimal places of USDC'],
    [
      priced('2.10 USDC per GPU-hour').replace('    gpu_count: 8\n', ''),
      'price is of one GPU, and offer_resource has no gpu_count',
    ],
  ] as const) {
    const { code, stderr } = await publish(yaml)
    t.is(code, 65, stderr)
    t.regex(stderr, /l\.yaml:1[23]: gpu-1: /)
    t.true(stderr.includes(message), stderr)
  }
})

test('validate: a seller sees how buyers read model, place and price, and the same mistakes', async (t) => {
  const { url } = await startRegistry(t)
  const yaml = [
    listingWith('one', 'gpu-1'),
    listingWith('two', 'gpu-1').replace('16800000', '8400000'),
    listingWith('three', 'gpu-1'),
    listingWith('ask', 'gpu-1').replace(/ +rates:\n.*\n/, ''),
    listingWith('play', 'gpu-1').replace('base', 'base_sepolia').replace(USDC, TEST_USDC),
  ].join('')
  const file = temporaryFile(t, 'l.yaml', yaml)
  const { code, stdout, stderr } = await runCli(['validate', file, '-r', url])
  t.is(code, 0, stderr)
  const verdicts: { price: string }[] = JSON.parse(stdout)
  t.deepEqual(
    verdicts.map(({ price }) => price),
    ['2.10 USDC/GPU·h', '1.05 USDC/GPU·h', '2.10 USDC/GPU·h', 'no price', '2.10 test USDC/GPU·h'],
  )
  const lines = [
    '[listings] 5 listings are read as H200, 141 GB, in Germany (DE)',
    '[listings] no price: ask',
    '[listings] 1.05 USDC/GPU·h: two',
    '[listings] 2.10 USDC/GPU·h: 2 listings, such as one',
    '[listings] 2.10 test USDC/GPU·h: play',
    `entrepot: warning: ${file}:56: play: ${NO_PRICE}USDC on base_sepolia is of a test network, and worth nothing`,
    '5 valid, 0 not valid, 0 not checked',
  ]
  t.deepEqual(stderr.split('\n').slice(0, -1), lines)
  const { stderr: quiet } = await runCli(['validate', file, '-r', url, '--quiet'])
  t.notRegex(quiet, /\[listings\]/)
  const wrong = temporaryFile(t, 'l.yaml', listingWith('bsae', 'base'))
  const refused = await runCli(['validate', wrong, '-r', url])
  t.is(refused.code, 65)
  t.regex(refused.stderr, /l\.yaml:8: gpu-1: .*did you mean base\?/)
})

test('publish: of many prices the twenty lowest and the twenty highest are shown, in a pipe too', async (t) => {
  const { url } = await startRegistry(t)
  const many = Array.from({ length: 45 }, (_, n) =>
    listingWith(`gpu-${n}`, 'gpu-1').replace('16800000', `${(n + 8) * 8}00000`),
  )
  const file = temporaryFile(t, 'l.yaml', many.join(''))
  const { code, stderr } = await runCli(['publish', file, '-r', url], { env: AS_ALICE })
  t.is(code, 0, stderr)
  const prices = [...stderr.matchAll(/^\[listings\] ([\d.]+) USDC/gm)].map(([, amount]) => Number(amount))
  const all = Array.from({ length: 45 }, (_, n) => (n + 8) / 10)
  t.deepEqual(prices, [...all.slice(0, 20), ...all.slice(-20)])
  t.regex(stderr, /^\[listings\] and 5 prices between these and$/m)
})
