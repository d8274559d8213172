import test, { type ExecutionContext } from 'ava'
import { escrow } from '../../../helpers/escrow.ts'
import { type FakeOptions, listingText } from '../../../helpers/fake-registry.ts'
import { startFake, startPatientGateway, type UpstreamEntry, whenReady } from '../../../helpers/gateway.ts'
import type { RunningService } from '../../../helpers/registry.ts'
import { type Answer, idsOf, readPage, streamAll, walkAll } from '../../../helpers/sequence.ts'

const SELLER = `0x${'1'.repeat(40)}`
const publishers = [[1, SELLER]] as const
const PURE = '[registry]\nenabled = false\n'

/** Terms that a forger chooses: model, price and date. */
function offer(listing_id: string, gpu_model: string, dollars: number, day: number): string {
  return listingText({
    listing_id,
    created_at: `2026-11-${String(day).padStart(2, '0')}T00:00:00`,
    offer_resource: { gpu_model, gpu_count: 1 },
    accepted_escrows: [escrow(String(dollars * 1_000_000))],
  })
}

const HONEST = [offer('c', 'H200', 3, 12), offer('b', 'H200', 4, 11), offer('a', 'A100', 5, 10)]
/** The same listings: newer, cheaper, as other models, and all of them. */
const FORGED = ['a', 'b', 'c'].map((id) => offer(id, id === 'a' ? 'H200' : 'A100', 1, 19))

type Entry = Omit<UpstreamEntry, 'url'> & { url?: string }

/** The gateway over these two, the honest one better. */
async function openMarket(t: ExecutionContext, honest: Entry, forger: Entry, options: FakeOptions = {}) {
  const good = await startFake(t, { items: HONEST, publishers, ...options })
  const bad = await startFake(t, { items: FORGED, publishers })
  const gateway = await startPatientGateway(
    t,
    [
      { url: good.url, ...honest },
      { url: bad.url, ...forger },
    ],
    { more: PURE },
  )
  await whenReady(gateway)
  return { gateway, bad }
}

const whoOf = ({ items }: Answer): string[] =>
  items.map(({ listing_id, _meta }) => `${listing_id} ${_meta.registry}`)

test(`authority: a worse source moves no listing of a better one by its date`, async (t) => {
  const { gateway } = await openMarket(
    t,
    { name: 'good', settings: 'priority = 1' },
    { name: 'bad', settings: 'priority = 2' },
  )
  const page = await readPage(gateway, '')
  t.deepEqual(whoOf(page), ['c good', 'b good', 'a good'])
  t.like(page, { total_after_filter: 3, total_is: undefined, unchecked: undefined })
  for (const { _meta } of page.items) t.like(_meta, { also_in: ['bad'], differs: true })
  t.deepEqual(await walkAll(gateway, 'limit=1'), ['c', 'b', 'a'])
  t.deepEqual(await streamAll(gateway), ['c', 'b', 'a'])
})

test(`authority: no filter, ceiling or order finds a copy of a worse source`, async (t) => {
  const { gateway } = await openMarket(
    t,
    { name: 'good', settings: 'priority = 1' },
    { name: 'bad', settings: 'priority = 2' },
  )
  for (const [query, expected] of [
    ['gpu_model=H200', ['c good', 'b good']],
    ['gpu_model=A100', ['a good']],
    ['price_token=USDC&price_max=2', []],
    ['price_token=USDC&price_max=3', ['c good']],
    ['sort=price&price_token=USDC', ['c good', 'b good', 'a good']],
    ['sort=price&price_token=USDC&gpu_model=A100', ['a good']],
  ] as const)
    t.deepEqual(whoOf(await readPage(gateway, query)), expected, query)
  t.deepEqual((await readPage(gateway, 'gpu_model=H200&sources=bad')).total_after_filter, 1)
  const facets = (await gateway.get('/facets?by=gpu_model,registry')).json()
  t.like(facets, {
    total: 3,
    facets: {
      gpu_model: {
        values: [
          { value: 'H200', count: 2 },
          { value: 'A100', count: 1 },
        ],
      },
      registry: { values: [{ value: 'good', count: 3 }] },
    },
    prices: [{ offers: 3, least: '3' }],
  })
})

test('authority: what a better source that is away might decide is shown, and marked', async (t) => {
  const { gateway } = await openMarket(
    t,
    { name: 'good', settings: 'priority = 1' },
    { name: 'bad', settings: 'priority = 2' },
    { script: [{ kind: 'status', status: 503 }] },
  )
  const page = (await gateway.get('/listings')).json() as Answer & { unchecked: number }
  t.like(page, { complete: false, unchecked: 3 })
  for (const { _meta } of page.items) t.like(_meta, { registry: 'bad', unchecked: ['good'] })
})

test('authority: a listing that its better Registry, which knows the seller, lacks is marked', async (t) => {
  const { gateway } = await openMarket(
    t,
    { name: 'good', settings: 'priority = 1' },
    { name: 'bad', settings: 'priority = 2' },
    { items: HONEST.slice(1) },
  )
  const { items } = await readPage(gateway, '')
  t.deepEqual(
    items.map(({ listing_id, _meta }) => [listing_id, _meta.registry, _meta.not_in]),
    [
      ['c', 'bad', ['good']],
      ['b', 'good', undefined],
      ['a', 'good', undefined],
    ],
  )
})

test('authority: a gateway over a gateway with a live source gives the inner verdict, in every order', async (t) => {
  const inner = await openMarket(
    t,
    { name: 'good', settings: 'priority = 1' },
    { name: 'bad', settings: 'priority = 2' },
  )
  const liar = await startFake(t, { items: FORGED, publishers })
  const open = (settings: string): Promise<RunningService> =>
    startPatientGateway(
      t,
      [
        { name: 'eu', url: inner.gateway.url, settings: `kind = "gateway"\npriority = 1\n${settings}` },
        { name: 'liar', url: liar.url, settings: 'priority = 2' },
      ],
      { more: `id = "outer"\n${PURE}` },
    )
  const outer = await open('')
  await whenReady(outer)
  const page = await readPage(outer, '')
  t.deepEqual(whoOf(page), ['c eu/good', 'b eu/good', 'a eu/good'])
  t.is(page.total_after_filter, 3)
  for (const { _meta } of page.items) t.deepEqual(_meta.also_in, ['eu/bad', 'liar'])
  t.deepEqual(whoOf(await readPage(outer, 'gpu_model=A100')), ['a eu/good'])
  t.deepEqual(idsOf(await readPage(outer, 'price_token=USDC&price_max=2')), [])
  t.deepEqual(await walkAll(outer, 'limit=1'), ['c', 'b', 'a'])
  t.deepEqual(await walkAll(outer, 'limit=1&sort=price&price_token=USDC'), ['c', 'b', 'a'])
})
