import { stripVTControlCharacters } from 'node:util'
import test from 'ava'
import { agentOver } from '../../helpers/agent.ts'
import { escrow, USDC } from '../../helpers/escrow.ts'
import { type FakeRegistry, listingText, startFakeRegistry } from '../../helpers/fake-registry.ts'
import { startFake } from '../../helpers/gateway.ts'
import { type RunningService, startRegistry } from '../../helpers/registry.ts'
import { hasTerminal, runCli, runInTerminal, temporaryFile } from '../../helpers/run-cli.ts'
import { ALICE, publish } from '../../helpers/seller.ts'

const OTHER = '0x9fe46736679d2d9a65f0992f2272de9f3c7fa6e0'
const UUID = '7f0c1c1e-6a0e-4e0b-9a53-0b6a4f7f2a01'

/** 8 GPUs for `cents` each. */
const machine = (cents: number, token = USDC, gpu_model = 'H200', chain = 'base') => ({
  offer_resource: { gpu_model, gpu_count: 8, region: 'Oslo, NO' },
  accepted_escrows: [escrow(String(8 * cents * 10_000), { token, chain })],
})

const MARKET = 60
let own: RunningService
let mirror: FakeRegistry
let urls: string

test.before(async (t) => {
  const teardowns: (() => unknown)[] = []
  t.context = teardowns
  own = await startRegistry({ teardown: (act) => void teardowns.push(act) })
  // The newest are the dearest.
  mirror = await startFakeRegistry({
    items: Array.from({ length: MARKET }, (_, n) =>
      listingText({
        listing_id: `k-${String(n).padStart(2, '0')}`,
        created_at: new Date(Date.UTC(2026, 9, 1) + n * 1000).toISOString().slice(0, 19),
        ...machine(100 + n),
      }),
    ).reverse(),
  })
  await publish(own.url, ALICE, { listing_id: UUID, ...machine(210) })
  await publish(own.url, ALICE, { listing_id: 'odd', ...machine(1, OTHER, 'L4') })
  urls = `${own.url},${mirror.url}`
})
test.after.always(async (t) => {
  for (const act of t.context as (() => unknown)[]) await act()
  await mirror?.close()
})

type Printed = { listing_id: string; _meta: { price?: { amount: string; symbol?: string } } }

async function listings(...args: string[]) {
  const { code, stdout, stderr } = await runCli(['listings', '-r', urls, '--json', ...args])
  const rows: Printed[] = code === 0 ? JSON.parse(stdout) : []
  return { code, stderr, ids: rows.map(({ listing_id }) => listing_id), rows }
}

test.serial('prices: the cheapest of everything come first, whatever the limit', async (t) => {
  const { ids, rows } = await listings('--sort', 'price', '--token', 'USDC', '-l', '3')
  t.deepEqual(ids, ['k-00', 'k-01', 'k-02'])
  t.like(rows[0]?._meta.price, { amount: '1', symbol: 'USDC' })
  t.deepEqual((await listings('--policy', 'cheapest', '-l', '3')).ids, ['k-00', 'k-01', 'k-02'])
  const all = await listings('--sort', 'price', '--all')
  t.is(all.ids.length, MARKET + 2)
  t.deepEqual(all.ids.slice(-2), [UUID, 'odd'])
  const ceiling = ['--token', 'base:USDC', '--max-price', '1.01']
  t.deepEqual((await listings(...ceiling)).ids, ['k-00', 'k-01'], 'a ceiling is ordered by price')
  t.deepEqual((await listings(...ceiling, '--sort', 'newest')).ids, ['k-01', 'k-00'])
  t.deepEqual((await listings('--gpu', 'H200', '-l', '1')).ids, ['k-00'], 'and so is a model')
  t.deepEqual((await listings(...ceiling, '--per', 'offer')).ids, [])
})

test.serial('prices: cheapest first is in one token on every chain, where none is named', async (t) => {
  const on = (chain: string, token: string, listing_id: string, cents: number): string =>
    listingText({ listing_id, ...machine(cents, token, 'H200', chain) })
  const ethereum = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
  const sepolia = '0x036cbd53842c5426634e7929541ec2318f3dcf7e'
  const fake = await startFake(t, {
    items: [
      on('base', USDC, 'base-1', 373),
      on('base', USDC, 'base-2', 175),
      on('ethereum', ethereum, 'ether-1', 197),
      on('base_sepolia', sepolia, 'play-1', 100),
      on('base', OTHER, 'odd-1', 1 / 10_000),
    ],
  })
  const cheapestFirst = ['base-2', 'ether-1', 'base-1', 'odd-1', 'play-1']
  for (const args of [
    ['--gpu', 'H200'],
    ['--sort', 'price'],
    ['--policy', 'cheapest'],
  ]) {
    const { stdout } = await runCli(['listings', '-r', fake.url, '--json', ...args])
    t.deepEqual(
      (JSON.parse(stdout) as Printed[]).map(({ listing_id }) => listing_id),
      cheapestFirst,
      args.join(' '),
    )
  }
  const agent = await agentOver(t, ['-r', fake.url])
  for (const given of [{ filters: { gpu: 'H200' } }, { sort: 'price' }]) {
    const { lines } = await agent.call('search_listings', given)
    t.deepEqual(
      lines.map((line) => line.split('|')[0]),
      cheapestFirst,
    )
    t.regex(lines.join('\n'), /^odd-1\|.*\|1 unit of "0x9fe4[^"]*"\/GPU·h\|/m)
  }
  const { lines } = await agent.call('market_overview')
  t.regex(lines.join('\n'), /^1 unit of "0x9fe4[^"]*"\/GPU·h, median 1\|1 offer/m)
})

test.serial(
  'prices: [tokens] of the buyer file name tokens, and what cannot be answered is refused',
  async (t) => {
    const config = temporaryFile(
      t,
      'buyer.toml',
      `[registry]\nurls = ["${own.url}"]\n[tokens]\n"base:${OTHER}" = { symbol = "TEST", decimals = 4 }\n`,
    )
    const named = await runCli([
      'listings',
      '--config',
      config,
      '--json',
      '--sort',
      'price',
      '--token',
      'TEST',
    ])
    t.like(JSON.parse(named.stdout)[0], {
      listing_id: 'odd',
      _meta: { price: { amount: '1', symbol: 'TEST' } },
    })
    const refused: [args: string[], message: RegExp][] = [
      [['--sort', 'price', '--token', 'USDX'], /--token: there is no token "USDX": known are base:USDC, /],
      [['--token', 'USDC'], /--token: has no effect without --sort=price or --max-price/],
      [['--max-price', '2,1'], /--max-price: expected an amount such as 2\.10/],
      [['--token', 'USDC', '--max-price', '2,1'], /--max-price: expected an amount such as 2\.10/],
      [['--sort', 'cheapest'], /Allowed choices are newest, price/],
      [['--all', '-l', '3'], /cannot be used with/],
      [
        ['--publisher', '0x12'],
        /--publisher must be an address, 0x and 40 hex digits, or ed25519: and a public key, not '0x12'/,
      ],
      [['--status', 'opne'], /Allowed choices are open, closed, expired, all/],
      [['--filter', 'gpu_modle=H200'], /unknown filter: 'gpu_modle'; did you mean gpu_model\?/],
    ]
    for (const [args, message] of refused) {
      const { code, stderr } = await listings(...args)
      t.is(code, 1, args.join(' '))
      t.regex(stderr, message)
    }
  },
)

test.serial('filters: values that no listing can have are named, and a repeated filter', async (t) => {
  const none = await listings('--filter', 'gpu_model=L4,H200')
  t.deepEqual([none.code, none.ids], [0, []])
  t.regex(none.stderr, /warning: gpu_model: 'L4,H200' is one value; .* in:\[L4,H200\]/)
  const others = ['--filter', 'gpu_count_min=99', '--filter', 'country=not_in:[RU]']
  const empty = await listings('--gpu', 'nvidia h200', '--continent', 'Europe', ...others)
  t.deepEqual([empty.code, empty.ids], [0, []])
  t.notRegex(empty.stderr, /warning/)
  t.regex((await listings('--gpu', 'b300')).stderr, /warning: gpu: no listing has 'B300'; there are H200, L4/)
  t.deepEqual((await listings('--gpus', '9')).ids, [])
  t.is((await listings('--gpus', '8', '--limit', '5')).ids.length, 5)
  const absent = await listings('--filter', 'region=Europe')
  t.regex(absent.stderr, /warning: region: no listing has 'Europe'; there are /)
  const twice = await listings('--filter', 'gpu_model=H200', '--filter', 'gpu_model=h200')
  t.regex(twice.stderr, /gpu_model is given twice, and only the last counts; .* gpu_model=in:\[A,B\]/)
  t.regex(twice.stderr, /no listing has 'h200'; did you mean H200\?/)
})

test.serial('policy: it is reported when a policy sees a part of the listings only', async (t) => {
  const part = await listings('--policy', 'registry-order')
  t.regex(part.stderr, /warning: the policy orders 50 of 62 listings; with --all it orders all of them/)
  t.notRegex((await listings('--policy', 'registry-order', '--all')).stderr, /\[policy\]/)
})

test.serial('facets: counts and prices over every listing of all Registries', async (t) => {
  const { code, stdout } = await runCli(['facets', '-r', urls, '--by', 'gpu_model,registry'])
  t.is(code, 0)
  const { sources: _, summary, ...found } = JSON.parse(stdout)
  t.is(
    summary.replace(/\d+ s old/, '0 s old'),
    `Cheapest 1.00 USDC/GPU·h (8 GPUs at once), median 1.30, of ${MARKET + 1} of ${MARKET + 2} listings by 2 sellers. ` +
      '2 of 2 answered, the oldest reading is 0 s old. Not counted: 1 price in other units or tokens.',
  )
  t.like(found, {
    total: MARKET + 2,
    gpus: 496,
    sellers: 2,
    complete: true,
    not_counted: { other: 1 },
    facets: {
      gpu_model: {
        values: [
          { value: 'H200', count: MARKET + 1 },
          { value: 'L4', count: 1 },
        ],
      },
      registry: {
        values: [
          { value: mirror.url, count: MARKET },
          { value: own.url, count: 2 },
        ],
      },
    },
    prices: [
      { symbol: 'USDC', offers: MARKET + 1, least: '1', median: '1.3', most: '2.1' },
      { token: OTHER },
    ],
  })
  const unknown = await runCli(['facets', '-r', urls, '--by', 'nothing'])
  t.regex(unknown.stderr, /by: there is no "nothing": known are registry, .*gpu_model.*region/)
})

test.serial('filters: names, kinds and allowed values, of the Registries that answer', async (t) => {
  const { code, stdout } = await runCli(['filters', '-r', urls])
  t.is(code, 0)
  const filters: { name: string; value_type: string; allowed?: string[]; registries: string[] }[] =
    JSON.parse(stdout)
  const model = filters.find(({ name }) => name === 'gpu_model')
  t.like(model, { value_type: 'string', registries: [own.url] })
  t.true(filters.find(({ name }) => name === 'gpu_interconnect')?.allowed?.includes('nvlink'))
  t.is(filters.find(({ name }) => name === 'region')?.allowed, undefined)
})

const withTerminal = hasTerminal ? test.serial : test.skip

withTerminal('terminal: 80 columns have whole ids, prices and their tokens', async (t) => {
  const env: Record<string, string> = { CI: '1' }
  const run = async (...args: string[]): Promise<string> =>
    stripVTControlCharacters((await runInTerminal([...args, '-r', own.url], { columns: 80, env })).stdout)
  const table = await run('listings', '--sort', 'price')
  t.regex(table, /^ID +USDC\/GPU·h +GPU/m)
  t.regex(table, new RegExp(`^${UUID} +2\\.10 +H200 +8\\r?$`, 'm'))
  t.regex(table, /^odd +10,000 units of 0x9fe4…a6e… +L4/m)
  t.true(
    table.split(/\r?\n/).every((line) => line.startsWith('[') || line.length <= 80),
    table,
  )
  env.LANG = 'C'
  const ascii = await run('listings', '--sort', 'price')
  t.regex(ascii, /^odd +10,000 units of 0x9fe4~a6e~ +L4/m)
  t.notRegex(ascii, /[^\n\r -~]/)
  env.LANG = 'C.UTF-8'
  const facets = await run('facets', '--by', 'gpu_model')
  t.regex(facets, /^USDC\/GPU·h +base +1 +8 +2\.10 +2\.10 +2\.10\r?$/m)
  t.regex(facets, /^H200 +1\r?$/m)
  t.regex(await run('filters'), /^gpu_interconnect +string +nvlink, nvswitch/m)
  t.regex(await run('listing', UUID), new RegExp(`^${UUID}  2\\.10 USDC/GPU·h  published`, 'm'))
})
