import test from 'ava'
import { eventually } from '../../helpers/eventually.ts'
import { idOf, listingText, listingTexts } from '../../helpers/fake-registry.ts'
import { startFake, startPatientGateway } from '../../helpers/gateway.ts'
import { send } from '../../helpers/registry.ts'
import { startScriptedEntrepot } from '../../helpers/scripted-entrepot.ts'
import { type Answer, idsIn, idsOf, readPage } from '../../helpers/sequence.ts'

for (const [where, from, to] of [
  ['the newest', 0, 1],
  ['the eighth', 7, 8],
  ['one in the middle', 120, 121],
  ['the last', 229, 230],
  ['each of the newest twenty', 0, 20],
] as const)
  test(`poison rows: where ${where} makes the Registry answer 500, all others are shown, for a bounded number of requests`, async (t) => {
    const items = listingTexts('a', 230)
    const failing = new Set(items.slice(from, to).map(idOf))
    const fake = await startFake(t, { items, failing })
    const service = await startPatientGateway(t, [{ name: 'a', url: fake.url }])
    const page = await readPage(service, 'limit=200&offset=30')
    const invalid = to - from
    t.like(page.sources[1], { state: 'loaded', invalid, matched: 230 - invalid, returned: 200 - invalid })
    t.true(fake.requests.length < 80 * invalid, `${fake.requests.length} requests`)
  })

test('poison rows: an upstream that never repeats a listing is not read for ever', async (t) => {
  const fake = await startFake(t)
  fake.beforePage = (request) => {
    const created_at = `2026-11-19T00:00:${59 - (request % 50)}`
    fake.items = listingTexts(`page-${request}`, 900, { created_at })
  }
  const { get } = await startPatientGateway(t, [{ name: 'a', url: fake.url }])
  const { status, json } = await get('/listings?gpu_model=H100')
  t.is(status, 503)
  t.not((json() as Answer).sources[1]?.state, 'loaded')
  t.true(fake.requests.length < 80, `${fake.requests.length} requests`)
})

test('poison rows: listings that are too large, alone or together, hide none that may be shown', async (t) => {
  const newest = (count: number, characters: number) =>
    listingTexts(`of-${characters}`, count, {
      created_at: '2026-11-20T00:01:00',
      demands: ['x'.repeat(characters)],
    })
  const huge = [...newest(40, 250_000), ...newest(1, 9 * 1024 * 1024)]
  const large = listingTexts('large', 150, { demands: ['x'.repeat(60_000)] })
  const fake = await startFake(t, { items: [...huge, ...large] })
  const settings = 'refresh_seconds = 3600'
  const service = await startPatientGateway(t, [{ name: 'a', url: fake.url, settings }])
  const page = await readPage(service, 'limit=200')
  t.deepEqual(idsOf(page), idsIn(large))
  t.like(page.sources[1], { state: 'loaded', invalid: 41 })
})

test(`poison rows: any number of listings with odd ids hides no other`, async (t) => {
  const odd = listingTexts('odd', 260, { created_at: '2026-11-20T00:01:00' }).map((text, n) =>
    text.replace('odd-', n % 2 === 0 ? 'x'.repeat(201) : 'x\\u0007'),
  )
  const fake = await startFake(t, { items: [...odd, ...listingTexts('a', 5)] })
  const settings = 'refresh_seconds = 3600'
  const service = await startPatientGateway(t, [{ name: 'a', url: fake.url, settings }])
  const page = await readPage(service, 'limit=50')
  t.deepEqual(idsOf(page), idsIn(listingTexts('a', 5)))
  t.like(page.sources[1], { state: 'loaded', invalid: 260, matched: 5 })
})

/** Listings of one id, as a gateway has them of many sellers. */
const popular = (count: number, gpuCount = 1): string[] =>
  Array.from({ length: count }, (_, n) =>
    listingText({
      listing_id: 'popular',
      offer_resource: { gpu_model: 'H100', gpu_count: gpuCount },
      _meta: { registry: 'r', publisher: `0x${String(n).padStart(40, '0')}` },
    }),
  )

for (const count of [40, 300])
  test(`poison rows: of ${count} listings of one id a gateway counts for 32, also after all have changed`, async (t) => {
    const others = listingTexts('a', 3, { _meta: { registry: 'r', publisher: `0x${'a'.repeat(40)}` } })
    const fake = await startFake(t, { kind: 'gateway', items: [...popular(count), ...others] })
    const service = await startPatientGateway(
      t,
      [{ name: 'a', url: fake.url, settings: 'kind = "gateway"\nrefresh_seconds = 3600' }],
      { environment: { REGISTRY_ADMIN_API_KEY: 'admin' } },
    )
    const isHeld = async (gpuCount: number) => {
      const { total_after_filter, sources } = await readPage(service, `gpu_count_min=${gpuCount}&limit=200`)
      return total_after_filter === (gpuCount === 1 ? 35 : 32) && sources[1]?.invalid === count - 32
    }
    t.true(await isHeld(1))
    fake.items = [...popular(count, 2), ...others]
    await send(`${service.url}/admin/sources/a/refresh`, {
      method: 'POST',
      headers: { Authorization: 'Bearer admin' },
    })
    await eventually('the changed ones are held', () => isHeld(2))
  })

test('poison rows: of listings of one id in a stream of changes a gateway counts for 32', async (t) => {
  const events = popular(40).map(
    (text, n) =>
      `id: ${n}\ndata: ${JSON.stringify({ type: 'listing', key: 'k', listing_id: 'popular', publisher: null, listing: JSON.parse(text) })}\n\n`,
  )
  const last = `id: last\ndata: ${JSON.stringify({ type: 'removed', key: 'k', listing_id: 'x-0000', publisher: null })}\n\n`
  const scripted = await startScriptedEntrepot(t, [[...events, last].join('')])
  const service = await startPatientGateway(t, [
    { name: 'a', url: scripted.url, settings: 'kind = "gateway"\nrefresh_seconds = 3600' },
  ])
  const read = () => readPage(service, 'limit=200')
  await eventually('the stream has ended', read, ({ total_after_filter: total }) => total !== 2)
  const { total_after_filter, sources } = await read()
  t.is(total_after_filter, 33)
  t.is(sources[1]?.invalid, 8)
})
