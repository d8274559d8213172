import test from 'ava'
import { pino } from 'pino'
import { CopyIndex } from '../../../../src/listing-index/copy-index.ts'
import type { FleetJson } from '../../../../src/wire/fleet.ts'
import { listingTexts } from '../../../helpers/fake-registry.ts'
import { gatewayToml, startFake, startGateway } from '../../../helpers/gateway.ts'
import { manualClock } from '../../../helpers/manual-clock.ts'

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

test('replicas: a minute after a copy of the index is marked wrongly, the metric, the log and the report have it', async (t) => {
  const clock = manualClock()
  const index = new CopyIndex([])
  const errors: string[] = []
  const log = pino({ level: 'error' }, { write: (line: string) => errors.push(JSON.parse(line).msg) })
  const fake = await startFake(t, {
    items: ['a', 'b'].flatMap((id, n) => listingTexts(id, 1, { publisher_id: n })),
    publishers: ['a', 'b'].map((digit, n) => [n, `0x${digit.repeat(40)}`]),
  })
  const upstreams = ['one', 'two'].map((name) => ({ name, url: fake.url }))
  const environment = { REGISTRY_ADMIN_API_KEY: 'admin' }
  const gateway = await startGateway(t, upstreams, { environment, clock, index, log })
  const found = async () => {
    const { replicas }: FleetJson = JSON.parse((await gateway.get('/admin/replicas', ADMIN)).text)
    const { text } = await gateway.get('/metrics', ADMIN)
    return [
      replicas[0]!.inconsistencies,
      Number(/^entrepot_index_inconsistencies_total (.*)$/m.exec(text)?.[1]),
    ]
  }
  clock.advance(60_000)
  t.deepEqual(await found(), [0, 0])
  let before: number | undefined = 0
  for (const listingId of ['a-0000', 'b-0000']) {
    // Past the index, which would decide that these are two listings now.
    for (const { seller } of index.copiesOf(listingId))
      index.sellers.learn(seller, { publisher: null, storefrontUrl: null })
    clock.advance(60_000)
    const [inReport, inMetric] = await found()
    t.true(inReport! > before!)
    t.is(inMetric, inReport)
    before = inReport
  }
  t.deepEqual(errors, ['index inconsistent: restart this process and report it'])
})
