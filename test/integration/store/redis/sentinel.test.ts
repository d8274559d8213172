import test, { type ExecutionContext } from 'ava'
import type { Redis } from 'ioredis'
import { ConfigError } from '../../../../src/errors.ts'
import { openRedisCounters, openRedisStore } from '../../../../src/store/redis/open.ts'
import { trustOurAuthority } from '../../../helpers/certificates.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { listingTexts } from '../../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../../helpers/gateway.ts'
import {
  ownRedis,
  redisClient,
  redisStore,
  replicate,
  startRedisTls,
  startSentinel,
  tlsOnly,
} from '../../../helpers/redis.ts'
import { Picture } from '../../../helpers/store/picture.ts'
import { published, publishOf } from '../../../helpers/store/subject.ts'

const UNAVAILABLE = { name: 'EntrepotError', code: 'unavailable' }
const WRITES = 20

trustOurAuthority()

const portOf = ({ url }: { url: string }): number => Number(new URL(url).port)

async function startWatched(t: ExecutionContext) {
  const master = await ownRedis(t, { 'repl-diskless-sync-delay': '0' })
  const { port, dispose } = await startSentinel(portOf(master))
  t.teardown(dispose)
  // The first address leads nowhere.
  return { master, port, url: `redis+sentinel://127.0.0.1:1,127.0.0.1:${port}/market` }
}

/** A Redis with a replica that has everything, and a Sentinel that knows both. */
async function startReplicated(t: ExecutionContext) {
  const watched = await startWatched(t)
  const other = await ownRedis(t)
  const [replica, sentinel] = [other.url, `redis://127.0.0.1:${watched.port}`].map((url) =>
    redisClient(t, url),
  ) as [Redis, Redis]
  await replicate(replica, watched.master)
  // By itself it asks servers for their state each 10 s, and demotes a master after four times 2 s.
  await sentinel.call('SENTINEL', 'DEBUG', 'INFO-PERIOD', '100', 'PUBLISH-PERIOD', '100')
  const replicas = async () => [await sentinel.call('SENTINEL', 'REPLICAS', 'market')].flat().length
  await eventually('a Sentinel that knows the replica', replicas)
  return { ...watched, replica, sentinel }
}

type Servers = Awaited<ReturnType<typeof startReplicated>>

const FAILOVERS: Readonly<Record<string, (servers: Servers) => Promise<unknown>>> = {
  'a killed master': ({ master }) => master.end('SIGKILL'),
  'a failover by hand': ({ sentinel }) => {
    const begin = () => sentinel.call('SENTINEL', 'FAILOVER', 'market').catch(() => null) // the replica is busy
    return eventually('a failover', begin)
  },
}

for (const [name, failOver] of Object.entries(FAILOVERS))
  test.serial(`Sentinel, ${name}: writes go on, and what the replica had is kept`, async (t) => {
    const servers = await startReplicated(t)
    const { master, replica, url } = servers
    const { store, warnings } = await openRedisStore(url)
    t.teardown(() => store.close())
    t.is(warnings.length, 1)
    t.true(warnings[0]!.startsWith(`Redis at 127.0.0.1:${portOf(master)} has appendfsync no`))
    let notices = 0
    t.teardown(store.onChange(() => notices++))
    const counters = await openRedisCounters(url)
    t.teardown(() => counters.close())

    const kept = Array.from({ length: WRITES }, (_, n) => `L${n}`)
    for (const listingId of kept) await published(store, publishOf(listingId))
    const operator = redisClient(t, master.url)
    await operator.set('written', '')
    t.is(await operator.wait(1, 10_000), 1)

    let writes = 0
    const write = async (): Promise<string | null> => {
      const listingId = `M${writes++}`
      try {
        await published(store, publishOf(listingId))
        return listingId
      } catch (error) {
        t.like(error, UNAVAILABLE)
        return null
      }
    }
    const role = () => replica.info('replication')
    await failOver(servers)
    await eventually(
      'a new master under writes',
      async () => {
        await write()
        return role()
      },
      (state) => state.includes('role:master'),
    )
    const arrives = async () => {
      const listingId = await write()
      return listingId !== null && (await replica.hexists('{entrepot}:rows:listings', listingId)) === 1
    }
    await eventually('a write on the new master', arrives)
    const { listings } = await Picture.of(store)
    t.deepEqual(
      kept.filter((listingId) => !listings.has(listingId)),
      [],
    )
    const counted = () =>
      counters.client.incr('count').then(
        async () => Number(await replica.get('count')) > 0,
        () => false,
      )
    await eventually('counts on the new master', counted)
    const before = notices
    const noticed = async () => {
      await write()
      return notices > before
    }
    await eventually('notices of the new master', noticed)
  })

test('Sentinel: a service shares counts and pulls by it, and shows its own process', async (t) => {
  const { url, master } = await startWatched(t)
  const redis = redisClient(t, master.url)
  const environment = { STORE_URL: url, REGISTRY_ADMIN_API_KEY: 'admin' }
  const fake = await startFake(t, { items: listingTexts('a', 3) })
  const upstreams = [{ name: 'a', url: fake.url }]
  const more = '[limits]\nanonymous_per_minute = 5'
  const { get } = await startGateway(t, upstreams, { environment, more })
  t.is((await get('/health')).status, 200)
  t.is((await get('/listings')).headers.get('RateLimit')?.split(';')[1], 'r=4')
  for (const shared of ['*anonymous*', 'entrepot:pulled:*'])
    await eventually(`shared: ${shared}`, async () => (await redis.keys(shared)).length === 1)
  const { status, text } = await get('/admin/replicas', { Authorization: 'Bearer admin' })
  t.is(status, 200)
  t.is(JSON.parse(text).note, 'Replicas are shown together where the store is a single Redis.')
})

test('Sentinel: TLS and the passwords of Redis and of Sentinel', async (t) => {
  const redis = await startRedisTls('registry', { requirepass: 'of, Redis' })
  t.teardown(() => redis.dispose())
  const { port, dispose } = await startSentinel(portOf(redis), (one) => ({
    ...tlsOnly(one, 'registry'),
    requirepass: '"of Sentinel"',
    'sentinel auth-pass': 'market "of, Redis"',
  }))
  t.teardown(dispose)
  const at = (userinfo: string) => `rediss+sentinel://${userinfo}@127.0.0.1:${port}/market`
  const store = await redisStore(t, at(':of%2C%20Redis,default:of%20Sentinel'))
  await published(store, publishOf('L'))

  const refused = {
    instanceOf: ConfigError,
    message: /rediss\+sentinel:\/\/…@127\.0\.0\.1:\d+\/market rejects the credentials \(WRONGPASS\)/,
  }
  await t.throwsAsync(openRedisStore(at(':wrong,:of%20Sentinel')), refused)
  await t.throwsAsync(openRedisStore(at(':of%2C%20Redis,:wrong')), {
    ...{ code: 'unavailable', message: /cannot be used \(All sentinels are .* WRONGPASS/ },
  })
})

test('Sentinel: one that is away, or that has no such master, ends the start with the reason', async (t) => {
  const { url } = await startWatched(t)
  const rows = [
    [
      'redis+sentinel://127.0.0.1:1/market',
      /^Redis at redis\+sentinel:\S+ cannot be used \(All sentinels are unreachable/,
    ],
    [url.replace('/market', '/shop'), /shop cannot be used \(.* ERR No such master with that name\)/],
  ] as const
  for (const [at, message] of rows) await t.throwsAsync(openRedisStore(at), { code: 'unavailable', message })
})
