import { readFileSync } from 'node:fs'
import test from 'ava'
import { generatePrivateKey } from 'viem/accounts'
import { deadUrl, listingText } from '../../helpers/fake-registry.ts'
import { startFarCopies } from '../../helpers/far-copies.ts'
import { startFake, startGateway } from '../../helpers/gateway.ts'
import { idsByPrice, listingsOf, OUTLIER_CASES } from '../../helpers/outlier-cases.ts'
import { startRegistry } from '../../helpers/registry.ts'
import { type Run, runNode, runShell, TIME_LAPSE } from '../../helpers/run-cli.ts'

const TOKEN = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'
const SELLER_PRIVATE_KEY = generatePrivateKey()
const KEY = 'example-'.repeat(8)

const runExample = (name: string, args: readonly string[], env: Record<string, string> = {}): Promise<Run> =>
  runNode([`examples/${name}`, ...args], { env })

const runPython = (url: string, key = ''): Promise<Run> =>
  runShell(`READ_KEY=${key} python3 examples/read-all.py ${url}`)

const linesOf = ({ stdout }: Run): string[] => stdout.split('\n').filter((line) => line !== '')

const priced = (id: string, value: string): string =>
  listingText({
    listing_id: id,
    accepted_escrows: [
      { literal_fields: { token: TOKEN }, rates: [{ field: 'amount', per: 'hour', value }] },
    ],
  })

test('read-all: prints each listing once, though pages repeat some', async (t) => {
  const { fakes, ids } = await startFarCopies(t, 900)
  const upstreams = fakes.map(({ url }, n) => ({ name: `registry-${n}`, url }))
  const { url } = await startGateway(t, upstreams)
  const run = await runExample('read-all.mjs', [url])
  t.is(run.code, 0, run.stderr)
  t.deepEqual(
    linesOf(run)
      .map((line) => line.split(' ')[0])
      .sort(),
    [...ids],
  )
  const python = await runPython(url)
  t.is(python.code, 0, python.stderr)
  t.deepEqual([...new Set(linesOf(python).map((line) => line.split(' ')[0]))].sort(), [...ids])
})

test('read-all: in Python as in JavaScript, READ_KEY opens a gate, and a refusal is one line', async (t) => {
  const fake = await startFake(t, { items: [priced('one', '5')] })
  const key = 'k'.repeat(43)
  const environment = { REGISTRY_REQUIRE_READ_API_KEY: 'true', REGISTRY_BOOTSTRAP_API_KEY: key }
  const { url } = await startGateway(t, [{ name: 'here', url: fake.url }], { environment })
  for (const run of [await runExample('read-all.mjs', [url], { READ_KEY: key }), await runPython(url, key)])
    t.deepEqual([run.code, linesOf(run).length], [0, 1], run.stderr)
  const refused = await runPython(url)
  t.deepEqual([refused.code, refused.stderr.trim()], [1, '401: API key required'])
})

test('read-all: exits with 1 if a source is missing', async (t) => {
  const fake = await startFake(t, { items: [priced('one', '5')] })
  const { url } = await startGateway(t, [
    { name: 'here', url: fake.url },
    { name: 'away', url: deadUrl() },
  ])
  for (const run of [await runExample('read-all.mjs', [url]), await runPython(url)]) {
    t.is(run.code, 1)
    t.is(linesOf(run).length, 1)
    t.regex(run.stderr, /some listings are missing/)
  }
})

test('read-all: a plain Registry, which has no cursors, is refused in words', async (t) => {
  const { url } = await startRegistry(t)
  for (const run of [await runExample('read-all.mjs', [url]), await runPython(url)]) {
    t.is(run.code, 1)
    t.regex(run.stderr, /this is a plain Registry: read its pages by offset/)
  }
})

test('careful-agent: acts on a complete answer only', async (t) => {
  const cheap = await startFake(t, {
    items: [priced('cheap', '9007199254740993')],
    // The first pull fails, at its second attempt, too.
    script: [{ kind: 'status', status: 503 }, { kind: 'status', status: 503 }, { kind: 'serve' }],
  })
  const odd = [null, 7, [null], [{ literal_fields: { token: TOKEN }, rates: [null] }]]
  const dear = await startFake(t, {
    items: [
      priced('dear', '9007199254740994'),
      priced('wordy', 'ten'),
      priced('negative', '-1'),
      ...odd.map((accepted_escrows, n) => listingText({ listing_id: `odd-${n}`, accepted_escrows })),
    ],
  })
  const { url } = await startGateway(t, [
    { name: 'cheap', url: cheap.url, settings: 'refresh_seconds = 1' },
    { name: 'dear', url: dear.url },
  ])
  const run = await runExample('careful-agent.mjs', [url])
  t.is(run.code, 0, run.stderr)
  t.regex(run.stderr, /attempt 1: no action, since these sources are missing: cheap \(http_503\)/)
  t.regex(run.stdout, /^cheapest of 8: cheap at .+ for 9007199254740993 per hour\n$/)
})

test('careful-agent: the cheapest is no outlier', async (t) => {
  for (const one of OUTLIER_CASES) {
    const fake = await startFake(t, { items: listingsOf(one) })
    const { url } = await startGateway(t, [{ name: 'far', url: fake.url }])
    const run = await runExample('careful-agent.mjs', [url, 'gpu=H200'])
    t.is(run.stdout.split(' ')[3], idsByPrice(one)[0], run.stderr)
  }
})

test('careful-agent: gives up without a complete answer', async (t) => {
  const fake = await startFake(t, { items: [priced('one', '5')] })
  const { url } = await startGateway(t, [
    { name: 'here', url: fake.url },
    { name: 'away', url: deadUrl() },
  ])
  const run = await runExample('careful-agent.mjs', [url], TIME_LAPSE)
  t.is(run.code, 1)
  t.is(run.stdout, '')
  t.is(run.stderr.match(/no action/g)?.length, 5)
})

test('publish: is accepted under an enforced shape, also on a second run', async (t) => {
  const environment = { REGISTRY_REQUIRE_WRITE_API_KEY: 'true', REGISTRY_BOOTSTRAP_API_KEY: KEY }
  const registry = await startRegistry(t, { toml: '[registry]\nlisting_shape = "enforce"', environment })
  const refused = await runExample('publish.mjs', [registry.url], { SELLER_PRIVATE_KEY })
  t.is(refused.code, 1)
  t.regex(refused.stderr, /401: API key required/)
  for (const _ of ['first', 'again']) {
    const run = await runExample('publish.mjs', [registry.url], { SELLER_PRIVATE_KEY, WRITE_KEY: KEY })
    t.is(run.stdout.trim(), 'published example-h200-1', run.stderr)
  }
  t.is((await registry.get('/listings')).json().count, 1)
})

test('gateway: examples/gateway.toml hides the private Registry without a key', async (t) => {
  const gate = { REGISTRY_REQUIRE_READ_API_KEY: 'true', REGISTRY_BOOTSTRAP_API_KEY: KEY }
  const urls: Record<string, string> = {
    'https://open-market.example': (await startRegistry(t)).url,
    'https://second-market.example': (await startRegistry(t)).url,
    'https://curated.example': (await startRegistry(t, { environment: gate })).url,
  }
  for (const url of Object.values(urls)) {
    const run = await runExample('publish.mjs', [url], { SELLER_PRIVATE_KEY: generatePrivateKey() })
    t.is(run.code, 0, run.stderr)
  }
  const toml = readFileSync('examples/gateway.toml', 'utf8').replaceAll(
    /^url = "(.+)"$/gm,
    (_line, url: string) => `url = "${urls[url]}"\nallow_private_addresses = true`,
  )
  const environment = { CURATED_KEY: KEY, REGISTRY_BOOTSTRAP_API_KEY: KEY }
  const { url } = await startRegistry(t, { toml, environment })
  const shown = async (env: Record<string, string>): Promise<(string | undefined)[]> => {
    const run = await runExample('read-all.mjs', [url], env)
    t.is(run.code, 0, run.stderr)
    return linesOf(run)
      .map((line) => line.split(' ')[1])
      .sort()
  }
  t.deepEqual(await shown({}), ['open-market', 'second-market'])
  t.deepEqual(await shown({ READ_KEY: KEY }), ['curated', 'open-market', 'second-market'])
})
