import test from 'ava'
import { deadUrl, listingTexts } from '../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../helpers/gateway.ts'
import { startRegistry } from '../../helpers/registry.ts'
import { ALICE, postJson, publish } from '../../helpers/seller.ts'

const ADMIN = { Authorization: 'Bearer admin' }
const environment = { REGISTRY_ADMIN_API_KEY: 'admin' }

type Sources = { sources: Record<string, unknown>[] }

test('sources: readers see the state, the operator also breakers, caches and calls', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 3) })
  const gateway = await startGateway(
    t,
    [
      { name: 'a', url: fake.url },
      { name: 'dead', url: deadUrl(), settings: 'visibility = "private"' },
    ],
    { environment },
  )
  await publish(gateway.url, ALICE, { listing_id: 'own' })
  const { key } = (await postJson(`${gateway.url}/admin/api-keys`, '{"name":"b"}', ADMIN)).json()
  const bearer = { Authorization: `Bearer ${key}` }
  await gateway.get('/listings', bearer)

  const open = await gateway.get('/sources')
  const { sources } = open.json() as Sources
  t.deepEqual(
    sources.map(({ registry, mode, state, listings }) => [registry, mode, state, listings]),
    [
      ['local', 'local', 'loaded', 1],
      ['a', 'live', 'loaded', 3],
    ],
  )
  t.true(Array.isArray(sources[0]?.filters))
  t.notRegex(open.text, /dead|private/)

  const all = (await gateway.get('/sources', bearer)).json() as Sources
  t.like(all.sources[2], {
    registry: 'dead',
    state: 'unavailable',
    last_error: { reason: 'connection_refused' },
  })
  t.false('calls' in all.sources[2]!)

  t.is((await gateway.get('/admin/sources', bearer)).status, 401)
  const details = (await gateway.get('/admin/sources', ADMIN)).json() as Sources
  t.like(details.sources[1], {
    registry: 'a',
    breaker: { state: 'closed', failures_in_a_row: 0 },
    calls: { made: 1, failed: 0, ended: 1 },
    cache: { miss: 1 },
  })
  t.like((details.sources[2]!.calls as Record<string, unknown>).failures_by_reason, { connection_refused: 2 })
})

test('sources: the operator drops the cached pages of an upstream', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 3) })
  const gateway = await startGateway(t, [{ name: 'a', url: fake.url }], { environment })
  await gateway.get('/listings')
  const pages = (): number => fake.requests.filter(({ path }) => path === '/listings').length
  await gateway.get('/listings?limit=2')
  t.is(pages(), 1, 'the second is answered from the cache')
  t.is((await postJson(`${gateway.url}/admin/sources/a/refresh`, '', ADMIN)).status, 202)
  await gateway.get('/listings')
  t.is(pages(), 2)
  for (const name of ['unknown', 'local'])
    t.is((await postJson(`${gateway.url}/admin/sources/${name}/refresh`, '', ADMIN)).status, 404)
  t.is((await postJson(`${gateway.url}/admin/sources/a/refresh`, '')).status, 401)
})

test('sources: 404 on a plain Registry', async (t) => {
  const { get } = await startRegistry(t)
  t.is((await get('/sources')).status, 404)
})
