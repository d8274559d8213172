import test from 'ava'
import { type FakeRegistry, listingText, listingTexts } from '../helpers/fake-registry.ts'
import { startFake, startGateway } from '../helpers/gateway.ts'
import type { RunningService } from '../helpers/registry.ts'
import { ALICE, postJson, publish } from '../helpers/seller.ts'

type Page = {
  items: { listing_id: string; _meta: { registry: string; also_in: string[] } }[]
  next_cursor?: string
  total_after_filter: number
  complete: boolean
}

const read = async (service: RunningService, path: string, headers = {}): Promise<Page> => {
  const reply = await service.get(path, headers)
  if (reply.status !== 200) throw new Error(`${reply.status} ${reply.text}`)
  return reply.json() as Page
}

/** Every id of the sequence, page by page; `services` take turns. */
const readAll = async (services: readonly RunningService[], path: string): Promise<string[]> => {
  const ids: string[] = []
  let cursor: string | undefined
  for (let turn = 0; ; turn++) {
    const page = await read(
      services[turn % services.length]!,
      cursor === undefined ? path : `${path}&cursor=${cursor}`,
    )
    ids.push(...page.items.map(({ listing_id }) => listing_id))
    cursor = page.next_cursor
    if (cursor === undefined) return ids
  }
}

/** `a` and `b` share every fifth listing, some of them at times that are far apart. */
const startTwo = async (t: Parameters<typeof startFake>[0], count: number): Promise<FakeRegistry[]> => {
  const a = await startFake(t, { items: listingTexts('a', count) })
  const shared = listingTexts('a', count).filter((_, n) => n % 5 === 0)
  const moved = shared.map((text, n) => {
    const listing = JSON.parse(text)
    const at = Date.parse(`${listing.created_at}Z`) + (n % 2 === 0 ? 700_000 : -700_000)
    return JSON.stringify({ ...listing, created_at: new Date(at).toISOString().slice(0, 19) })
  })
  const items = [...listingTexts('b', count), ...moved].sort((x, y) =>
    JSON.parse(x).created_at < JSON.parse(y).created_at ? 1 : -1,
  )
  return [a, await startFake(t, { items })]
}

const idsOf = (fakes: readonly FakeRegistry[]): string[] => [
  ...new Set(fakes.flatMap(({ items }) => items.map((text) => JSON.parse(text).listing_id as string))),
]

test('cursors lead through the whole merged sequence: each listing once, however deep', async (t) => {
  const [a, b] = await startTwo(t, 1500)
  const service = await startGateway(t, [
    { name: 'a', url: a!.url },
    { name: 'b', url: b!.url },
  ])
  const ids = await readAll([service], '/listings?limit=200')
  t.is(new Set(ids).size, ids.length, 'no repeats')
  t.deepEqual(ids.toSorted(), idsOf([a!, b!]).sort(), 'no gaps')
  for (const { requests } of [a!, b!]) t.true(requests.length < 60, `${requests.length} requests`)
})

test('a replica goes on with the cursor of another', async (t) => {
  const [a, b] = await startTwo(t, 450)
  const upstreams = [
    { name: 'a', url: a!.url },
    { name: 'b', url: b!.url },
  ]
  const environment = { REGISTRY_ADMIN_API_KEY: 'shared by the two' }
  const services = [
    await startGateway(t, upstreams, { environment }),
    await startGateway(t, upstreams, { environment }),
  ]
  const ids = await readAll(services, '/listings?limit=70')
  t.is(new Set(ids).size, ids.length, 'no repeats')
  t.deepEqual(ids.toSorted(), idsOf([a!, b!]).sort(), 'no gaps')
})

test('a page ends where the next one begins, also when listings come and go between them', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 600) })
  const service = await startGateway(t, [{ name: 'a', url: fake.url }], {
    more: '[cache]\nfresh_seconds = 0\nstale_while_revalidate_seconds = 0\n',
  })
  const kept = new Set(idsOf([fake]))
  const ids: string[] = []
  let path = '/listings?limit=100'
  for (let page = 0; ; page++) {
    const { items, next_cursor } = await read(service, path)
    ids.push(...items.map(({ listing_id }) => listing_id))
    if (next_cursor === undefined) break
    path = `/listings?limit=100&cursor=${next_cursor}`
    for (const [gone] of [fake.items.splice(10, 1), fake.items.splice(-5, 1)])
      kept.delete(JSON.parse(gone!).listing_id)
    if (page % 2 === 0)
      fake.items.unshift(...listingTexts(`new${page}`, 3, { created_at: '2026-11-20T00:00:01' }))
  }
  t.is(new Set(ids).size, ids.length, 'no repeats')
  for (const id of kept) if (id.startsWith('a-')) t.true(ids.includes(id), `${id} was lost`)
})

test('a far page is refused with the word cursor, and a cursor leads there', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 2300) })
  const service = await startGateway(t, [{ name: 'a', url: fake.url }])
  const refused = await service.get('/listings?offset=1901&limit=100')
  t.is(refused.status, 400)
  t.regex(String(refused.json().detail), /cursor/)
  const { next_cursor } = await read(service, '/listings?offset=1800&limit=200')
  const { items } = await read(service, `/listings?limit=200&cursor=${next_cursor}`)
  t.is(items[0]?.listing_id, 'a-2000')
  t.is(items.length, 200)
})

test('a cursor is of one question: another filter, status, source or reader is refused', async (t) => {
  const open = await startFake(t, { items: listingTexts('a', 80) })
  const hidden = await startFake(t, { items: listingTexts('h', 80) })
  const service = await startGateway(
    t,
    [
      { name: 'a', url: open.url },
      { name: 'h', url: hidden.url, settings: 'visibility = "private"' },
    ],
    { environment: { REGISTRY_ADMIN_API_KEY: 'admin' } },
  )
  const { key } = (
    await postJson(`${service.url}/admin/api-keys`, '{"name":"b"}', { Authorization: 'Bearer admin' })
  ).json()
  const bearer = { Authorization: `Bearer ${key}` }
  const { next_cursor } = await read(service, '/listings?limit=10', bearer)
  const again = `limit=20&cursor=${next_cursor}`
  t.is((await read(service, `/listings?${again}`, bearer)).items.length, 20)
  for (const [query, headers] of [
    [again, {}],
    [`${again}&status=closed`, bearer],
    [`${again}&gpu_model=H100`, bearer],
    [`${again}&sources=a`, bearer],
    [`${again}x`, bearer],
    [`limit=5&cursor=${next_cursor?.slice(0, -3)}AAA`, bearer],
  ] as const) {
    const { status, json } = await service.get(`/listings?${query}`, headers)
    t.is(status, 400, query)
    t.regex(String(json().detail), /cursor/)
  }
})

test('there is a cursor where there is more, and none where there is not', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 5) })
  const service = await startGateway(t, [{ name: 'a', url: fake.url }])
  await publish(service.url, ALICE, { listing_id: 'own' })
  t.is((await read(service, '/listings?limit=6')).next_cursor, undefined)
  const first = await read(service, '/listings?limit=4')
  const second = await read(service, `/listings?limit=2&cursor=${first.next_cursor}`)
  t.is(second.items.length, 2)
  t.is(second.next_cursor, undefined)
  t.is(second.total_after_filter, 6)
})

test('what the local Registry holds far back is known at once, with a filter and without', async (t) => {
  const text = (fields: object): string =>
    listingText({ listing_id: 'shared', created_at: '2126-01-01T00:00:00', ...fields })
  const fake = await startFake(t, { items: [text({}), ...listingTexts('a', 3)] })
  const service = await startGateway(t, [{ name: 'a', url: fake.url }])
  const storefront_url = 'http://storefront.example/'
  for (const listing_id of ['shared', 'b-1', 'b-2', 'b-3'])
    await publish(service.url, ALICE, { listing_id, storefront_url, offer_resource: { gpu_model: 'H100' } })
  for (const filter of ['', '&gpu_model=H100']) {
    const first = await read(service, `/listings?limit=2${filter}`)
    t.deepEqual(idsIn(first), ['b-3', 'b-2'], 'the newer copy shadows nothing')
    t.is(first.total_after_filter, 7)
    const { items } = await read(service, `/listings?limit=9${filter}&cursor=${first.next_cursor}`)
    const shared = items.find(({ listing_id }) => listing_id === 'shared')
    t.like(shared?._meta, { registry: 'local', also_in: ['a'] })
    t.is(items.length, 5)
  }
  const { items } = await read(service, '/listings?gpu_model=H200')
  t.deepEqual(items, [])
})

const idsIn = ({ items }: Page): string[] => items.map(({ listing_id }) => listing_id)
