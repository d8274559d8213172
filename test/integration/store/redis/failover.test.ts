import test, { type ExecutionContext } from 'ava'
import type { Redis } from 'ioredis'
import { openRedisCounters } from '../../../../src/store/redis/open.ts'
import type { Store } from '../../../../src/store/store.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { ownRedis, redisClient, redisStore, replicate } from '../../../helpers/redis.ts'
import { Picture } from '../../../helpers/store/picture.ts'
import { loaded, published, publishOf } from '../../../helpers/store/subject.ts'
import { startTcpProxy } from '../../../helpers/tcp-proxy.ts'

const UNAVAILABLE = { name: 'EntrepotError', code: 'unavailable' }

async function startOwn(t: ExecutionContext) {
  const redis = await ownRedis(t, { 'repl-diskless-sync-delay': '0' })
  const operator = redisClient(t, redis.url)
  return { url: redis.url, port: Number(new URL(redis.url).port), operator }
}

/** Two Redis servers behind one address that leads to the first. */
async function setUp(t: ExecutionContext) {
  const [old, next] = await Promise.all([startOwn(t), startOwn(t)])
  const proxy = await startTcpProxy(old.port)
  t.teardown(() => proxy.close())
  return { old, next, proxy, url: `redis://127.0.0.1:${proxy.port}` }
}

type Servers = Awaited<ReturnType<typeof setUp>>

/** Makes the second server a master with everything that the first one has now. */
async function split({ old, next }: Servers): Promise<void> {
  await replicate(next.operator, old)
  await next.operator.replicaof('NO', 'ONE')
}

/** Makes the first server read only; it does not know the second. Blocked connections close, others stay. */
const demote = ({ old }: Servers) => old.operator.replicaof('127.0.0.1', 1)

async function failOver(servers: Servers): Promise<void> {
  await split(servers)
  await demote(servers)
  servers.proxy.moveTo(servers.next.port)
}

/** As if the clock of Redis was 40 s ahead. */
function commitIn40Seconds(operator: Redis) {
  const at = (Date.now() + 40_000) * 1000
  return operator.xadd('{entrepot}:log', `${at}-0`, 'first', at)
}

/** Tries until it succeeds: a client that has left one server needs a moment to reach the other. */
async function succeeds(act: () => Promise<unknown>): Promise<void> {
  const outcome = () =>
    act().then(
      () => 'done',
      (error: unknown) => error,
    )
  await eventually('done', outcome, (value) => value === 'done')
}

/** Resolves when a notification lets the listing be read behind the position. */
const noticed = (store: Store, position: string, listingId: string): Promise<void> =>
  new Promise((resolve) => {
    const stop = store.onChange(async () => {
      const read = await store.changesAfter(position, 100).catch(() => 'lost' as const)
      if (read === 'lost') return
      if (!read.changes.some((it) => it.kind === 'listing' && it.record.listingId === listingId)) return
      stop()
      resolve()
    })
  })

test('failover: writes and notifications reach the new master', async (t) => {
  const servers = await setUp(t)
  const store = await redisStore(t, servers.url)
  t.teardown(store.onChange(() => {}))
  await published(store, publishOf('before'))
  await split(servers)
  await demote(servers)
  const clients = async () => String(await servers.old.operator.client('LIST'))
  await eventually('followed', clients, (list) => list.includes('cmd=subscribe'))
  servers.proxy.moveTo(servers.next.port)

  await t.throwsAsync(store.publish(publishOf('refused')), {
    ...UNAVAILABLE,
    message: /Redis answered READONLY/,
  })
  await servers.proxy.left(servers.old.port)
  await succeeds(() => store.ping())
  await published(store, publishOf('after'))
  const { position } = await loaded(store)
  const notice = noticed(store, position, 'elsewhere')
  const other = await redisStore(t, servers.next.url)
  await published(other, publishOf('elsewhere'))
  await notice
  t.deepEqual([...(await Picture.of(store)).listings.keys()], ['before', 'after', 'elsewhere'])
})

test('failover: reads leave a demoted master', async (t) => {
  const servers = await setUp(t)
  const store = await redisStore(t, servers.url)
  t.teardown(store.onChange(() => {}))
  const { position } = await loaded(store)
  await failOver(servers)
  await t.throwsAsync(store.changesAfter(position, 10), {
    ...UNAVAILABLE,
    message: /Redis answered READONLY/,
  })
  await servers.proxy.left(servers.old.port)
  await succeeds(() => store.changesAfter(position, 10))
  t.pass()
})

test('failover: counters leave a demoted master', async (t) => {
  const servers = await setUp(t)
  const counters = await openRedisCounters(servers.url)
  t.teardown(() => counters.close())
  t.is(await counters.client.incr('count'), 1)
  await failOver(servers)
  await t.throwsAsync(counters.client.incr('count'), { message: /^READONLY|timed out/ })
  await servers.proxy.left(servers.old.port)
  await succeeds(() => counters.client.incr('count'))
  t.is(await servers.next.operator.get('count'), '2')
})

test('failover: changes are noticed on a new master that lags and lost an entry', async (t) => {
  const servers = await setUp(t)
  const store = await redisStore(t, servers.url)
  t.teardown(store.onChange(() => {}))
  await published(store, publishOf('L'))
  await split(servers)
  await commitIn40Seconds(servers.old.operator)
  const { position } = await loaded(store)
  const heard = noticed(store, position, 'lost')
  await published(store, publishOf('lost'))
  await heard

  servers.proxy.moveTo(servers.next.port)
  await demote(servers)
  await t.throwsAsync(store.ping(), UNAVAILABLE)
  await servers.proxy.left(servers.old.port)
  await succeeds(() => store.ping())
  const { position: end } = await loaded(store)
  const notice = noticed(store, end, 'M')
  const other = await redisStore(t, servers.next.url)
  await published(other, publishOf('M'))
  await notice
  t.deepEqual([...(await Picture.of(store)).listings.keys()], ['L', 'M'])
})

test('failover: changes are noticed after the changelog was reset', async (t) => {
  const { url, operator } = await startOwn(t)
  const store = await redisStore(t, url)
  t.teardown(store.onChange(() => {}))
  await commitIn40Seconds(operator)
  const { position } = await loaded(store)
  const heard = noticed(store, position, 'L')
  await published(store, publishOf('L'))
  await heard
  await operator.flushall()
  t.is(await store.changesAfter(position, 10), 'lost')
  const { position: end } = await loaded(store)
  const notice = noticed(store, end, 'M')
  const other = await redisStore(t, url)
  await published(other, publishOf('M'))
  await notice
  t.pass()
})
