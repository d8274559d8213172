import test from 'ava'
import type { FleetJson } from '../../../../src/wire/fleet.ts'
import { listingTexts } from '../../../helpers/fake-registry.ts'
import { gatewayToml, startFake, startGateway } from '../../../helpers/gateway.ts'

const ADMIN = { Authorization: 'Bearer admin' }

test('replicas: one process alone shows its traffic and why its reload failed', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 3) })
  const upstreams = [{ name: 'a', url: fake.url }]
  const environment = { REGISTRY_ADMIN_API_KEY: 'admin' }
  const { get, reload } = await startGateway(t, upstreams, { environment })
  const fleet = async () => JSON.parse((await get('/admin/replicas', ADMIN)).text) as FleetJson
  t.is((await get('/admin/replicas')).status, 401)
  for (const path of ['/listings', '/listings', '/listings', '/sources', '/health', '/nowhere', '/operator'])
    await get(path)
  const { scope, note, replicas, traffic, answered_by, changes } = await fleet()
  t.deepEqual(
    [scope, note],
    ['this_process', 'Replicas are shown together where the store is a single Redis.'],
  )
  t.like(traffic.total, { requests: 4, errors: 0, lookups: 4 }, 'only of the market')
  t.is(traffic.minutes.requests.length, 60)
  t.is(replicas.length, 1)
  t.like(replicas[0], { id: answered_by, age_seconds: 0, states: { loaded: 2 }, total: traffic.total })
  t.is(replicas[0]?.reload.error, null)
  t.like(changes[0], { registry: 'a', from: 'not_yet_loaded', to: 'loaded', reason: null })

  await reload('[gateway]\nbudget_ms = "soon"')
  t.regex((await fleet()).replicas[0]?.reload.error ?? '', /gateway\.toml.*budget_ms/)
  t.is((await fleet()).sources.length, 2, 'the previous configuration stays')
  await reload(gatewayToml(upstreams))
  t.is((await fleet()).replicas[0]?.reload.error, null)
})
