import type { ExecutionContext } from 'ava'
import test from 'ava'
import { ReplyError } from 'ioredis'
import { redisFailure } from '../../../../src/store/redis/session.ts'
import type { Store } from '../../../../src/store/store.ts'
import {
  type OwnRedis,
  redisClient,
  redisStore,
  startRedis,
  startRedisCluster,
} from '../../../helpers/redis.ts'
import { Picture } from '../../../helpers/store/picture.ts'
import { keyNamed, loaded, notified, published, publishOf, replayed } from '../../../helpers/store/subject.ts'

const UNAVAILABLE = { name: 'EntrepotError', code: 'unavailable' }

async function setUp(
  t: ExecutionContext,
  start = () => startRedis(),
): Promise<{ redis: OwnRedis; store: Store }> {
  const redis = await start()
  t.teardown(() => redis.dispose())
  const store = await redisStore(t, redis.url)
  return { redis, store }
}

/** Resolves when the store is usable and has notified its listeners. */
const usable = (store: Store): Promise<void> =>
  new Promise((resolve) => {
    const stop = store.onChange(() => {
      const done = () => {
        stop()
        resolve()
      }
      store.ping().then(done, () => {})
    })
  })

for (const [name, start] of [
  ['Redis', () => startRedis()],
  ['Cluster', () => startRedisCluster()],
] as const)
  test(`a killed ${name} fails every call, and after a restart has every acknowledged write`, async (t) => {
    const { redis, store } = await setUp(t, start)
    await Promise.all(Array.from({ length: 100 }, (_, n) => published(store, publishOf(`L${n}`))))
    const before = await loaded(store)

    const inFlight = Array.from({ length: 100 }, (_, n) => store.publish(publishOf(`M${n}`)))
    const settled = Promise.allSettled(inFlight)
    await redis.end('SIGKILL')
    for (const one of await settled) if (one.status === 'rejected') t.like(one.reason, UNAVAILABLE)
    const refused = await t.throwsAsync(store.publish(publishOf('N')), UNAVAILABLE)
    t.like(refused, { headers: { 'Retry-After': '5' } })
    await t.throwsAsync(store.ping(), UNAVAILABLE)
    await t.throwsAsync(loaded(store), UNAVAILABLE)
    await t.throwsAsync(store.changesAfter(before.position, 10), UNAVAILABLE)

    const back = usable(store)
    await redis.start()
    await back
    const picture = new Picture()
    for (const change of before.changes) picture.apply(change)
    const { changes, position } = await replayed(store, before.position)
    for (const change of changes) picture.apply(change)
    t.deepEqual(picture.sorted(), (await Picture.of(store)).sorted())
    t.true((await settled).filter(({ status }) => status === 'fulfilled').length <= changes.length)

    const grown = notified(store)
    const receipt = await published(store, publishOf('N'))
    await grown
    t.true(
      receipt.createdAt >
        Math.max(...before.changes.map((it) => (it.kind === 'listing' ? it.record.createdAt : 0))),
    )
    t.is((await replayed(store, position)).changes.length, 1)
  })

test('outage: a hanging Redis is unavailable until it responds again', async (t) => {
  const { redis, store } = await setUp(t)
  const command = publishOf('L')
  redis.signal('SIGSTOP')
  await t.throwsAsync(store.publish(command), UNAVAILABLE)
  redis.signal('SIGCONT')
  // The outcome of the first is unknown; the same again is safe.
  t.is((await store.publish(command)).outcome, 'published')
  t.is((await Picture.of(store)).listings.size, 1)
})

test('outage: flushed scripts are sent again, a flushed database is a lost position and can be backed up', async (t) => {
  const { redis, store } = await setUp(t)
  const operator = redisClient(t, redis.url)
  await published(store, publishOf('L'))
  await operator.script('FLUSH')
  await published(store, publishOf('M'))
  const { position } = await loaded(store)
  await operator.flushall()
  t.is(await store.changesAfter(position, 10), 'lost')
  await published(store, publishOf('N'))
  t.is(await store.changesAfter(position, 10), 'lost')
  t.deepEqual([...(await Picture.of(store)).listings.keys()], ['N'])
  const backedUp = await redisStore(t, redis.url, { mustExist: true })
  t.deepEqual([...(await Picture.of(backedUp)).listings.keys()], ['N'])
})

test('Redis clock: times rise after the clock is set back', async (t) => {
  const { redis, store } = await setUp(t)
  const operator = redisClient(t, redis.url)
  const anHourAhead = Date.now() * 1000 + 3_600_000_000
  await operator.xadd('{entrepot}:log', `${anHourAhead}-0`, 'first', anHourAhead)
  const { createdAt } = await published(store, publishOf('L'))
  t.is(createdAt, anHourAhead + 1)
  const later = (await published(store, publishOf('M'))).createdAt
  t.true(later > createdAt && later < createdAt + 10)
})

test('outage: a read-only Redis fails the ping', async (t) => {
  const { redis, store } = await setUp(t)
  const operator = redisClient(t, redis.url)
  await operator.replicaof('127.0.0.1', 1)
  await t.throwsAsync(store.ping(), { ...UNAVAILABLE, message: /Redis answered READONLY/ })
  await t.throwsAsync(store.publish(publishOf('L')), UNAVAILABLE)
  const back = usable(store)
  await operator.replicaof('NO', 'ONE')
  await t.notThrowsAsync(back)
})

test('outage: a Redis without memory refuses a publish, and revokes a key', async (t) => {
  const { redis, store } = await setUp(t)
  const operator = redisClient(t, redis.url)
  const { id } = await store.addKey(keyNamed('leaked'))
  const { position } = await loaded(store)
  await operator.config('SET', 'maxmemory', '1mb')
  await t.throwsAsync(store.publish(publishOf('L')), { ...UNAVAILABLE, message: /Redis answered OOM/ })
  const key = await store.revokeKey(id)
  t.truthy(key?.revokedAt)
  t.deepEqual((await replayed(store, position)).changes, [{ kind: 'key', key }])
})

// As Redis 6.2 words what a command in a script was answered; Redis 7 passes the answer on.
const WRAPPED =
  'ERR Error running script (call to f_2d8a): @user_script:57: @user_script: 57: -READONLY You can’t write against a read only replica.'

test('Redis errors: a state refused within a script is unavailable, on 6.2 and 7', (t) => {
  for (const message of [WRAPPED, 'READONLY You can’t write against a read only replica.'])
    t.like(redisFailure(new ReplyError(message)), { code: 'unavailable', reason: 'Redis answered READONLY' })
})

test("Redis errors: a script's own fault is not an outage", (t) => {
  const fault = new ReplyError(
    'ERR Error running script (call to f_2d8a): @user_script:57: user_script:57: attempt to index a nil value',
  )
  t.is(redisFailure(fault), fault)
})
