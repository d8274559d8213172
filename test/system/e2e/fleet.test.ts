import test from 'ava'
import type { ApiKeyJson } from '../../../src/wire/api-key.ts'
import type { FleetJson } from '../../../src/wire/fleet.ts'
import { eventually } from '../../helpers/eventually.ts'
import { deadUrl } from '../../helpers/fake-registry.ts'
import { gatewayToml } from '../../helpers/gateway.ts'
import { ownRedis, redisClient } from '../../helpers/redis.ts'
import { ADMIN, closable, send, startRegistry } from '../../helpers/registry.ts'
import { temporaryFile } from '../../helpers/run-cli.ts'
import { startProcess } from '../../helpers/service-process.ts'

const READER = { Authorization: 'Bearer reader' }

test('fleet: replicas on one Redis are shown as one, and alone without Redis', async (t) => {
  const redis = await ownRedis(t)
  const toml = gatewayToml([{ name: 'gone', url: deadUrl() }])
  const environment = {
    STORE_URL: redis.url,
    REGISTRY_ADMIN_API_KEY: 'admin',
    REGISTRY_REQUIRE_WRITE_API_KEY: 'on',
    REGISTRY_BOOTSTRAP_API_KEY: 'reader',
  }
  const startReplica = async () => {
    const owner = closable(t)
    const { url } = await startRegistry(owner, { environment, toml, saveReportEveryMs: 50 })
    return { url, close: owner.close }
  }
  const [a, b] = [await startReplica(), await startReplica()]
  for (const { url } of [a, b, b]) await send(`${url}/listings`, { headers: READER })

  const both = await fleetAt(
    a,
    ({ traffic, changes }) =>
      traffic.total.requests === 3 && new Set(changes.map(({ replica }) => replica)).size === 2,
  )
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
  // Its circuit breaker may have opened since.
  const change = both.changes.find(({ from }) => from === 'not_yet_loaded')
  t.like(change, { registry: 'gone', to: 'unavailable' })
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

  const client = redisClient(t, redis.url)
  const keys = await client.keys('*replica:*')
  t.is(keys.length, 2)
  for (const key of keys) {
    await eventually('a report that expires', async () => (await client.ttl(key)) > 0)
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

  const file = temporaryFile(t, 'gateway.toml', toml)
  const killed = await startProcess(redis.url, { ...environment, ENTREPOT_CONFIG: file })
  const inFleet = [both.answered_by, ofB.answered_by]
  const isThird = ({ id }: { id: string }) => !inFleet.includes(id)
  const { id } = (await fleetAt(a, ({ replicas }) => replicas.length === 3)).replicas.find(isThird)!
  await killed.end('SIGKILL')
  t.is((await fleetAt(a, () => true)).replicas.find(isThird)?.id, id, 'shown until its report is too old')
  await client.zadd('{entrepot}:replicas', 1, id)
  t.is((await fleetAt(a, () => true)).replicas.length, 2)
  await eventually('removed', async () => (await client.exists(`{entrepot}:replica:${id}`)) === 0)
  for (const { close } of [a, b]) await close()
  t.deepEqual(await client.keys('*replica*'), [], 'a drained replica removes its report')

  const last = await startReplica()
  const [key] = JSON.parse(
    (await send(`${last.url}/admin/api-keys`, { headers: ADMIN })).text,
  ) as ApiKeyJson[]
  t.is(key?.calls, 4, 'of the replicas that were drained')
})

const fleetAt = ({ url }: { url: string }, holds: (fleet: FleetJson) => boolean): Promise<FleetJson> =>
  eventually(
    'such a fleet',
    async () => JSON.parse((await send(`${url}/admin/replicas`, { headers: ADMIN })).text) as FleetJson,
    holds,
  )
