import test from 'ava'
import { Redis } from 'ioredis'
import type { ApiKeyJson } from '../../../src/wire/api-key.ts'
import type { FleetJson } from '../../../src/wire/fleet.ts'
import { eventually } from '../../helpers/eventually.ts'
import { deadUrl } from '../../helpers/fake-registry.ts'
import { gatewayToml, LIVE } from '../../helpers/gateway.ts'
import { ownRedis } from '../../helpers/redis.ts'
import { send } from '../../helpers/registry.ts'
import { temporaryFile } from '../../helpers/run-cli.ts'
import { type ServiceProcess, startProcess } from '../../helpers/service-process.ts'

const ADMIN = { Authorization: 'Bearer admin' }
const READER = { Authorization: 'Bearer reader' }

test('fleet: replicas on one Redis are shown as one, and alone without Redis', async (t) => {
  const redis = await ownRedis(t)
  const file = temporaryFile(
    t,
    'gateway.toml',
    gatewayToml([{ name: 'gone', url: deadUrl(), settings: LIVE }]),
  )
  const environment = {
    ENTREPOT_CONFIG: file,
    REGISTRY_ADMIN_API_KEY: 'admin',
    REGISTRY_REQUIRE_WRITE_API_KEY: 'on',
    REGISTRY_BOOTSTRAP_API_KEY: 'reader',
  }
  const [a, b] = (await Promise.all([1, 2].map(() => startProcess(redis.url, environment)))) as [
    ServiceProcess,
    ServiceProcess,
  ]
  for (const { end } of [a, b]) t.teardown(() => end('SIGKILL'))
  for (const { url } of [a, b, b]) await send(`${url}/listings`, { headers: READER })

  const both = await fleetAt(a, ({ traffic }) => traffic.total.requests === 3)
  t.is(both.scope, 'all')
  t.is(both.replicas.length, 2)
  t.is(both.replicas[0]?.id, both.answered_by)
  t.deepEqual(both.replicas.map(({ total }) => total.requests).sort(), [1, 2])
  const gone = both.sources.find(({ registry }) => registry === 'gone')!
  t.is(gone.state, 'unavailable')
  t.deepEqual(Object.values(gone.replicas), ['unavailable', 'unavailable'])
  t.is(gone.calls?.failures_by_reason.connection_refused, gone.calls?.failed)
  t.is(gone.traffic?.total.errors, gone.calls?.failed)
  t.true((both.sources[0]?.filters?.length ?? 0) > 0)
  t.true(new Set(both.changes.map(({ replica }) => replica)).size === 2)
  t.like(both.changes[0], { registry: 'gone', from: 'not_yet_loaded', to: 'unavailable' })
  const ofB = await fleetAt(b, ({ traffic }) => traffic.total.requests === 3)
  t.not(ofB.answered_by, both.answered_by)
  t.deepEqual(ofB.sources.find(({ registry }) => registry === 'gone')?.calls, gone.calls)

  redis.signal('SIGSTOP')
  t.is((await fleetAt(a, () => true)).scope, 'this_process')
  redis.signal('SIGCONT')
  await redis.end('SIGKILL')
  const alone = await fleetAt(a, ({ scope }) => scope === 'this_process')
  t.is(alone.note, 'Redis does not answer, so the other replicas are not shown.')
  t.is(alone.replicas.length, 1)
  t.is((await send(`${a.url}/publishers`, { headers: READER })).status, 200)
  await redis.start()
  const again = await fleetAt(
    b,
    ({ replicas, traffic }) => replicas.length === 2 && traffic.total.requests === 4,
  )
  t.is(again.scope, 'all')

  const client = new Redis(redis.url)
  t.teardown(() => client.disconnect())
  const keys = await client.keys('*replica:*')
  t.is(keys.length, 2)
  for (const key of keys) {
    t.true((await client.ttl(key)) > 0)
    t.false(JSON.stringify(await client.hgetall(key)).includes('reader'), 'no key in a report')
  }
  const now = Date.now()
  const foreign = ['{entrepot}:replica:foreign', '{entrepot}:replica:future']
  await client.hset(foreign[0]!, { report: '[]', startedAt: 'yesterday' })
  await client.hset(foreign[1]!, {
    report: (await client.hget(keys[0]!, 'report'))?.replace(/\d{13}/, '1e30'),
  })
  await client.set('{entrepot}:replica:text', 'of another type')
  await client.zadd('{entrepot}:replicas', now, 'foreign', now, 'future', now, 'text')
  const ended = Array.from({ length: 100 }, (_, n) => `ended-${n}`)
  await client.zadd('{entrepot}:replicas', ...ended.flatMap((id) => [now - 20_000, id]))
  const among = await fleetAt(a, () => true)
  t.is(among.replicas.length, 2, 'neither other entities nor many replicas that ended hide a replica')
  await client.del(...foreign, '{entrepot}:replica:text')
  await client.zrem('{entrepot}:replicas', 'foreign', 'future', 'text', ...ended)
  await b.end('SIGKILL')
  const killed = (await fleetAt(a, () => true)).replicas.find(({ id }) => id !== both.answered_by)
  t.is(killed?.id, ofB.answered_by, 'shown until its report is too old')
  await client.zadd('{entrepot}:replicas', 1, ofB.answered_by)
  t.is((await fleetAt(a, () => true)).replicas.length, 1)
  await eventually(
    'removed',
    async () => (await client.exists(`{entrepot}:replica:${ofB.answered_by}`)) === 0,
  )
  t.is(await a.end('SIGTERM'), 0)
  t.deepEqual(await client.keys('*replica*'), [], 'a drained replica removes its report')

  const third = await startProcess(redis.url, environment)
  t.teardown(() => third.end('SIGKILL'))
  const [key] = JSON.parse(
    (await send(`${third.url}/admin/api-keys`, { headers: ADMIN })).text,
  ) as ApiKeyJson[]
  t.is(key?.calls, 2, 'of the process that was drained')
})

/** Reports are saved every five seconds. */
const fleetAt = ({ url }: ServiceProcess, holds: (fleet: FleetJson) => boolean): Promise<FleetJson> =>
  eventually(
    'such a fleet',
    async () => JSON.parse((await send(`${url}/admin/replicas`, { headers: ADMIN })).text) as FleetJson,
    holds,
  )
