import { readFileSync, writeFileSync } from 'node:fs'
import test, { type ExecutionContext } from 'ava'
import { listingText, listingTexts } from '../../../helpers/fake-registry.ts'
import { type FarCopies, startFarCopies } from '../../../helpers/far-copies.ts'
import { startFake, startPatientGateway, whenReady } from '../../../helpers/gateway.ts'
import { manualClock } from '../../../helpers/manual-clock.ts'
import { temporaryFile } from '../../../helpers/run-cli.ts'
import { ALICE, mintKey, publish } from '../../../helpers/seller.ts'
import { idsIn, idsOf, readPage, streamAll, walkAll } from '../../../helpers/sequence.ts'

const behind = ({ fakes: [a, b] }: FarCopies, settings = '') => [
  { name: 'a', url: a.url, settings },
  { name: 'b', url: b.url, settings },
]

const environment = { REGISTRY_ADMIN_API_KEY: 'shared by the two' }

/** Lost and repeated nothing, but for a second copy of what both have. */
function checkAtLeastOnce(t: ExecutionContext, ids: readonly string[], { ids: all, shared }: FarCopies) {
  t.deepEqual([...new Set(ids)].sort(), [...all], 'no gaps')
  const repeats = ids.filter((id, n) => ids.indexOf(id) !== n)
  t.is(new Set(repeats).size, repeats.length, 'none three times')
  t.deepEqual(
    repeats.filter((id) => !shared.has(id)),
    [],
  )
}

test('cursor: loses no listing, and repeats only one whose copies are far apart', async (t) => {
  const copies = await startFarCopies(t, 1500)
  const service = await startPatientGateway(t, behind(copies))
  const ids = await walkAll(service, 'limit=200')
  checkAtLeastOnce(t, ids, copies)
  const pages = Math.ceil(ids.length / 200)
  for (const { requests } of copies.fakes)
    t.true(requests.length <= 2 * pages, `${requests.length} requests for ${pages} pages`)
})

test('cursor: works on another replica', async (t) => {
  const copies = await startFarCopies(t, 450)
  const services = [
    await startPatientGateway(t, behind(copies), { environment }),
    await startPatientGateway(t, behind(copies), { environment }),
  ]
  checkAtLeastOnce(t, await walkAll(services, 'limit=70'), copies)
})

test('cursor: over snapshots loses and repeats nothing, loses nothing on a replica', async (t) => {
  const copies = await startFarCopies(t, 450)
  const snapshots = behind(copies, '')
  const services = [
    await startPatientGateway(t, snapshots, { environment }),
    await startPatientGateway(t, snapshots, { environment }),
  ]
  await Promise.all(services.map(whenReady))
  for (const service of services)
    t.deepEqual((await walkAll(service, 'limit=70')).toSorted(), [...copies.ids])
  checkAtLeastOnce(t, await walkAll(services, 'limit=70'), copies)
})

test('offset: pages neither lose nor repeat a listing with distant copies', async (t) => {
  const copies = await startFarCopies(t, 450)
  const service = await startPatientGateway(t, behind(copies))
  for (const limit of [50, 100, 200]) {
    const ids: string[] = []
    for (let offset = 0; offset < copies.ids.length; offset += limit)
      ids.push(...idsOf(await readPage(service, `limit=${limit}&offset=${offset}`)))
    t.deepEqual(ids.toSorted(), [...copies.ids], `limit=${limit}`)
  }
})

test('cursor: the next page begins where the last one ended, despite changes', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 600) })
  const service = await startPatientGateway(t, [{ name: 'a', url: fake.url }], {
    more: '[cache]\nfresh_seconds = 0\n',
  })
  const kept = new Set(idsIn(fake.items))
  const ids = await walkAll(service, 'limit=100', (page) => {
    for (const gone of idsIn([...fake.items.splice(10, 1), ...fake.items.splice(-5, 1)])) kept.delete(gone)
    if (page % 2 === 1)
      fake.items.unshift(...listingTexts(`new${page}`, 3, { created_at: '2026-11-20T00:00:01' }))
  })
  t.is(new Set(ids).size, ids.length, 'no repeats')
  for (const id of kept) if (id.startsWith('a-')) t.true(ids.includes(id), `${id} was lost`)
})

test('paging: a deletion leaves no hole in a partly cached source', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 400) })
  const service = await startPatientGateway(t, [{ name: 'a', url: fake.url }])
  await readPage(service, 'limit=50')
  const gone = idsIn(fake.items.splice(5, 1))
  const kept = idsIn(fake.items)
  const ids = idsOf(await readPage(service, 'offset=100&limit=200'))
  const first = kept.indexOf(ids[0]!)
  t.deepEqual(ids, kept.slice(first, first + 200))
  t.deepEqual(
    (await streamAll(service)).filter((id) => !gone.includes(id)),
    kept,
  )
})

test('offset: a deep page is refused with a hint to cursor, which reaches it', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 2300) })
  const service = await startPatientGateway(t, [{ name: 'a', url: fake.url }])
  const refused = await service.get('/listings?offset=1901&limit=100')
  t.is(refused.status, 400)
  t.regex(String(refused.json().detail), /cursor/)
  const { next_cursor } = await readPage(service, 'offset=1800&limit=200')
  const { items } = await readPage(service, `limit=200&cursor=${next_cursor}`)
  t.is(items[0]?.listing_id, 'a-2000')
  t.is(items.length, 200)
})

test('cursor: valid for one query only, another filter, status, source or reader is refused', async (t) => {
  const open = await startFake(t, { items: listingTexts('a', 80) })
  const hidden = await startFake(t, { items: listingTexts('h', 80) })
  const clock = manualClock()
  const service = await startPatientGateway(
    t,
    [
      { name: 'a', url: open.url },
      { name: 'h', url: hidden.url, settings: 'visibility = "private"' },
    ],
    { environment: { REGISTRY_ADMIN_API_KEY: 'admin' }, clock },
  )
  const { bearer } = await mintKey(service.url)
  const { next_cursor } = (await service.get('/listings?limit=10', bearer)).json()
  const again = `limit=20&cursor=${next_cursor}`
  t.is((await service.get(`/listings?${again}`, bearer)).json().count, 20)
  for (const [query, headers] of [
    [again, {}],
    [`${again}&status=closed`, bearer],
    [`${again}&gpu_model=H100`, bearer],
    [`${again}&sources=a`, bearer],
    [`${again}&publisher=0xabc`, bearer],
    [`${again}x`, bearer],
    [`limit=5&cursor=${String(next_cursor).slice(0, -3)}AAA`, bearer],
  ] as const) {
    const { status, json } = await service.get(`/listings?${query}`, headers)
    t.is(status, 400, query)
    t.regex(String(json().detail), /cursor/)
  }
  clock.advance(3_600_000)
  t.is((await service.get(`/listings?${again}`, bearer)).status, 200)
  clock.advance(1000)
  t.regex(String((await service.get(`/listings?${again}`, bearer)).json().detail), /cursor.*expired/)
})

test('cursor: refused once a reload has given a filter of its query another meaning', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 30) })
  const specOf = (member: string): string =>
    readFileSync('config/filter-spec.yaml', 'utf8') +
    `  - {name: kind, path: $.offer_resource.${member}, op: not_in, value_type: string, on_missing: pass}\n`
  const spec = temporaryFile(t, 'filter-spec.yaml', specOf('gpu_model'))
  const service = await startPatientGateway(t, [{ name: 'a', url: fake.url }], {
    environment: { REGISTRY_FILTER_SPEC_PATH: spec },
  })
  const asked = 'limit=10&kind=not_in:[x]'
  const plain = await readPage(service, 'limit=10')
  const { next_cursor } = await readPage(service, asked)
  writeFileSync(spec, specOf('other'))
  await service.context.reload()
  const refused = await service.get(`/listings?${asked}&cursor=${next_cursor}`)
  t.is(refused.status, 400)
  t.regex(String(refused.json().detail), /cursor: is not valid/)
  t.is((await readPage(service, `limit=10&cursor=${plain.next_cursor}`)).items.length, 10)
})

test('cursor: present only if there are more listings', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 5) })
  const service = await startPatientGateway(t, [{ name: 'a', url: fake.url }])
  await publish(service.url, ALICE, { listing_id: 'own' })
  t.is((await readPage(service, 'limit=6')).next_cursor, undefined)
  const first = await readPage(service, 'limit=4')
  const second = await readPage(service, `limit=2&cursor=${first.next_cursor}`)
  t.is(second.items.length, 2)
  t.is(second.next_cursor, undefined)
  t.is(second.total_after_filter, 6)
})

test('order: a listing is at the place of its local copy, whatever date a worse source gives it', async (t) => {
  const text = (fields: object): string =>
    listingText({ listing_id: 'shared', created_at: '2126-01-01T00:00:00', ...fields })
  const fake = await startFake(t, {
    items: [text({}), ...listingTexts('a', 3)],
    publishers: [[1, ALICE.address.toLowerCase()]],
  })
  const service = await startPatientGateway(t, [{ name: 'a', url: fake.url }])
  await whenReady(service)
  const storefront_url = 'http://storefront.example/'
  for (const listing_id of ['shared', 'b-1', 'b-2', 'b-3'])
    await publish(service.url, ALICE, { listing_id, storefront_url, offer_resource: { gpu_model: 'H100' } })
  for (const filter of ['', '&gpu_model=H100']) {
    const first = await readPage(service, `limit=2${filter}`)
    t.deepEqual(idsOf(first), ['b-3', 'b-2'])
    t.is(first.total_after_filter, 7)
    const { items } = await readPage(service, `limit=9${filter}&cursor=${first.next_cursor}`)
    t.deepEqual(idsOf({ items }), ['b-1', 'shared', 'a-0000', 'a-0001', 'a-0002'])
    t.like(items[1]?._meta, { registry: 'local', also_in: ['a'] })
  }
  const { items } = await readPage(service, 'gpu_model=H200')
  t.deepEqual(items, [])
})
