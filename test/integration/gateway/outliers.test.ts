import { spawn } from 'node:child_process'
import { once } from 'node:events'
import test, { type ExecutionContext } from 'ava'
import { createClient } from '../../../src/client/client.ts'
import { agentAt, agentOver } from '../../helpers/agent.ts'
import { eventually } from '../../helpers/eventually.ts'
import { startFake, startGateway } from '../../helpers/gateway.ts'
import { idsByPrice, listingsOf, OUTLIER_CASES } from '../../helpers/outlier-cases.ts'
import type { RunningService } from '../../helpers/registry.ts'
import { BIN, runCli, TIME_LAPSE } from '../../helpers/run-cli.ts'

type Row = { listing_id: string; _meta?: { price?: { outlier?: boolean } } }
type Doors = { t: ExecutionContext; url: string; gateway: RunningService }

const BY_PRICE = 'gpu=H200&sort=price&price_token=USDC'
const CEILING = '&price_max=10'

/** What answers an order by price at each door, under a ceiling. */
const DOORS: Readonly<Record<string, (doors: Doors) => Promise<readonly Row[]>>> = {
  'a page': async ({ gateway }) =>
    (await gateway.get(`/listings?${BY_PRICE}${CEILING}`)).json().items as Row[],
  'pages by offset': async ({ gateway }) => {
    const rows: Row[] = []
    for (;;) {
      const { items } = (await gateway.get(`/listings?${BY_PRICE}&limit=2&offset=${rows.length}`)).json()
      if ((items as Row[]).length === 0) return rows
      rows.push(...(items as Row[]))
    }
  },
  'pages by cursor': async ({ gateway }) => {
    const rows: Row[] = []
    for (let cursor = ''; ; ) {
      const { items, next_cursor } = (
        await gateway.get(`/listings?${BY_PRICE}${CEILING}&limit=2${cursor}`)
      ).json()
      rows.push(...(items as Row[]))
      if (next_cursor === undefined) return rows
      cursor = `&cursor=${next_cursor}`
    }
  },
  NDJSON: async ({ gateway }) => {
    const { text } = await gateway.get(`/listings?${BY_PRICE}`, { accept: 'application/x-ndjson' })
    const lines = text.trim().split('\n')
    return lines.slice(0, -1).map((line) => JSON.parse(line))
  },
  'the library': ({ gateway: { url } }) =>
    Array.fromAsync(createClient({ url }).listings({ gpu: 'H200', sort: 'price', price_token: 'USDC' })),
  'agents over HTTP': async ({ t, gateway }) =>
    (await (await agentAt(t, gateway.url)).read('search_listings', AGENTS)).value.items,
  'agents over stdio': async ({ t, url }) =>
    (await (await agentOver(t, ['-r', url])).read('search_listings', AGENTS)).value.items,
  'the command line': async ({ url }) => {
    const { stdout } = await runCli(['listings', '-r', url, ...ORDERED])
    return JSON.parse(stdout)
  },
  'the table of the command line': async ({ url }) => {
    const { stdout } = await runCli(['listings', '-r', url, ...ORDERED, '--table'])
    const [, ...lines] = stdout.trim().split('\n')
    return lines.map((line) => ({
      listing_id: line.split(' ')[0]!,
      _meta: { price: { outlier: line.includes('(bait?)') } },
    }))
  },
}

const AGENTS = { filters: { gpu: 'H200' }, sort: 'price', price_token: 'USDC', limit: 200 }
const ORDERED = ['--gpu', 'H200', '--sort', 'price', '--token', 'USDC', '--max-price', '10', '--limit', '200']

for (const one of OUTLIER_CASES) {
  const { name, outliers } = one
  const open = async (t: ExecutionContext): Promise<Doors> => {
    const { url } = await startFake(t, { items: listingsOf(one) })
    return { t, url, gateway: await startGateway(t, [{ name: 'far', url }]) }
  }

  test(`outliers: ${name}: last and marked in an order by price, and under a ceiling`, async (t) => {
    const doors = await open(t)
    for (const [door, read] of Object.entries(DOORS)) {
      const rows = await read(doors)
      t.deepEqual(
        rows.map(({ listing_id }) => listing_id),
        idsByPrice(one),
        door,
      )
      const marked = rows.flatMap(({ listing_id, _meta }) => (_meta?.price?.outlier ? [listing_id] : []))
      t.deepEqual(marked, outliers, door)
    }
  })

  test(`outliers: ${name}: sentences leave them out and say how many`, async (t) => {
    const { url, gateway } = await open(t)
    const agent = await agentAt(t, gateway.url)
    const words = {
      '/facets': (await gateway.get('/facets?gpu=H200')).json().summary as string,
      market_overview: (await agent.call('market_overview', { filters: { gpu: 'H200' } })).text,
      facets: (await runCli(['facets', '-r', url, '--gpu', 'H200', '--by', 'registry', '--table'])).stdout,
    }
    const [cheapest = ''] = idsByPrice(one)
    const [seller = '', n] = cheapest.split('-')
    const least = (one.offers[seller]![Number(n)]! / 1e6).toFixed(6).replace(/0{1,4}$/, '')
    for (const [door, text] of Object.entries(words)) {
      t.true(text.includes(`Cheapest ${least} USDC/GPU·h`), `${door}: ${text}`)
      const count = `${outliers.length} ${outliers.length === 1 ? 'price' : 'prices'} below 1 %`
      t.is(text.includes(count), outliers.length > 0, `${door}: ${text}`)
    }
    const { total, prices } = (await gateway.get('/facets?gpu=H200')).json()
    t.is(total, idsByPrice(one).length)
    t.is((prices as { offers: number }[])[0]?.offers, idsByPrice(one).length - outliers.length)
  })

  test(`outliers: ${name}: watch leaves them out and says how many`, async (t) => {
    const fake = await startFake(t, { items: [] })
    const watched = ['watch', '-r', fake.url, '--gpu', 'H200', '--token', 'USDC', '--max-price', '10']
    const child = spawn(process.execPath, [BIN, ...watched], {
      env: { ...process.env, ...TIME_LAPSE },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    t.teardown(() => child.kill('SIGKILL'))
    const isPage = ({ path }: { path: string }) => path.startsWith('/listings')
    await eventually('readings', () => fake.requests.filter(isPage).length >= 8)
    const printed = { stdout: '', stderr: '' }
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream].setEncoding('utf8').on('data', (text: string) => {
        printed[stream] += text
      })
    fake.items = listingsOf(one)
    const shown = idsByPrice(one).length - outliers.length
    await eventually('all others', () => printed.stdout.split('\n').length === shown + 1)
    const count = `Left out so far: ${outliers.length} offer`
    await eventually('their count', () => outliers.length === 0 || printed.stderr.includes(count))
    child.kill('SIGTERM')
    await once(child, 'exit')
    const ids = printed.stdout.trim().split('\n')
    const idsOf = ids.map((line) => JSON.parse(line).listing_id)
    t.deepEqual(idsOf.sort(), idsByPrice(one).slice(0, shown).sort())
    if (outliers.length === 0) t.notRegex(printed.stderr, /Left out/)
  })
}
