import test from 'ava'
import type { SourceDetailsJson } from '../../../../src/wire/source.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { deadUrl, listingTexts } from '../../../helpers/fake-registry.ts'
import { freePort } from '../../../helpers/free-port.ts'
import { startFake, startGateway } from '../../../helpers/gateway.ts'
import { manualClock } from '../../../helpers/manual-clock.ts'
import { startRegistry } from '../../../helpers/registry.ts'
import { ALICE, mintKey, postJson, publish } from '../../../helpers/seller.ts'

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
  const { bearer } = await mintKey(gateway.url)
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

test('sources: a refresh clears the cache of an upstream and requests it at once', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 3) })
  const gateway = await startGateway(t, [{ name: 'a', url: fake.url }], { environment })
  await gateway.get('/listings')
  const pages = (): number => fake.requests.filter(({ path }) => path === '/listings').length
  await gateway.get('/listings?limit=2')
  await gateway.get('/listings?limit=2')
  t.is(pages(), 1, 'the others are answered from the cache')
  t.is((await postJson(`${gateway.url}/admin/sources/a/refresh`, '', ADMIN)).status, 202)
  await eventually('read again', () => pages() === 2)
  await gateway.get('/listings?limit=2')
  t.is(pages(), 3, 'a response of before is not sent again')
  for (const action of ['refresh', 'probe']) {
    for (const name of ['unknown', 'local'])
      t.is((await postJson(`${gateway.url}/admin/sources/${name}/${action}`, '', ADMIN)).status, 404)
    t.is((await postJson(`${gateway.url}/admin/sources/a/${action}`, '')).status, 401)
  }
})

test('sources: a probe reaches an upstream whose circuit breaker is open', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 3), port: await freePort() })
  const clock = manualClock()
  const gateway = await startGateway(t, [{ name: 'a', url: fake.url, settings: 'api_key_env = "A_KEY"' }], {
    environment: { ...environment, A_KEY: 'upstream-key' },
    clock,
  })
  const probe = async () =>
    (await postJson(`${gateway.url}/admin/sources/a/probe`, '', ADMIN)).json() as SourceDetailsJson
  await gateway.get('/listings')
  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
  fake.script = [{ kind: 'hold', until: isReleased }]
  const first = probe()
  await eventually('probed', () => fake.requests.filter(({ path }) => path === '/listings').length === 2)
  const second = probe()
  await gateway.get('/sources')
  release()
  for (const { calls } of await Promise.all([first, second]))
    t.is(calls?.ended, 2, 'both wait for one answer')
  await fake.close()
  const broken = await eventually('paused', probe, ({ breaker }) => breaker?.state === 'open')
  t.like(broken, { state: 'stale', breaker: { failures_in_a_row: 5 } })
  const asked = fake.requests.length
  for (const path of ['/listings?publisher=0xabc', '/listings?status=closed', '/listings/x'])
    t.regex((await gateway.get(path)).text, /"reason":"circuit_open"/, path)
  t.is(fake.requests.length, asked)
  t.is(broken.failures?.length, 5)
  t.like(broken.failures?.[0], { reason: 'connection_refused' })
  t.is(typeof broken.breaker?.retry_at, 'string')
  t.like(broken.traffic?.total, { requests: 7, errors: 5, lookups: 1, hits: 0 })
  t.is(broken.traffic?.minutes.requests.at(-1), 7)
  t.like(broken.settings, { kind: 'registry', mode: 'live', api_key: true, timeout_ms: 2500 })
  t.false(JSON.stringify(broken).includes('upstream-key'))
})

test('sources: 404 on a plain Registry', async (t) => {
  const { get } = await startRegistry(t)
  t.is((await get('/sources')).status, 404)
})
