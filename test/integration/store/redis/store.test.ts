import { randomUUID } from 'node:crypto'
import test from 'ava'
import { Redis } from 'ioredis'
import { openRedisStore } from '../../../../src/store/redis/open.ts'
import { startSpreadCluster, testRedis } from '../../../helpers/redis.ts'
import { loaded, type OpenStore, published, publishOf } from '../../../helpers/store/subject.ts'
import { frozenContract } from '../contract/frozen.ts'
import { sharedStoreContract } from '../contract.ts'

let redis: Awaited<ReturnType<typeof testRedis>>
let cluster: Awaited<ReturnType<typeof startSpreadCluster>>
test.before(async () => {
  ;[redis, cluster] = await Promise.all([testRedis(), startSpreadCluster()])
})
test.after.always(() => Promise.all([redis?.dispose(), cluster?.dispose()]))

/** Every test has its own keys. */
const openAt =
  (server: () => { url: string }): OpenStore =>
  async (t, options) => {
    const { url } = server()
    const under = { prefix: `{entrepot-test-${randomUUID()}}:`, ...options }
    const opened = async () => {
      const { store } = await openRedisStore(url, under)
      t.teardown(() => store.close())
      return store
    }
    return { store: await opened(), another: opened }
  }

test('redis: a store of which rows were evicted is not loaded', async (t) => {
  const client = new Redis(redis.url)
  t.teardown(() => client.disconnect())
  for (const evicted of [
    ['rows:registry'],
    ['order:listings'],
    ['rows:listings', 'order:listings'],
    ['rows:facts'],
    ['order:guard'],
  ]) {
    const prefix = `{entrepot-test-${randomUUID()}}:`
    const open = async () => {
      const { store } = await openRedisStore(redis.url, { prefix })
      t.teardown(() => store.close())
      return store
    }
    await published(await open(), publishOf('L'))
    await client.del(...evicted.map((name) => prefix + name))
    const message = 'Redis lacks rows: restore a backup'
    await t.throwsAsync(loaded(await open()), { message }, evicted.join())
  }
})

test('redis: a publisher that was evicted is no removal of the listing with its number', async (t) => {
  const prefix = `{entrepot-test-${randomUUID()}}:`
  const { store } = await openRedisStore(redis.url, { prefix })
  t.teardown(() => store.close())
  const client = new Redis(redis.url)
  t.teardown(() => client.disconnect())
  const { position } = await loaded(store)
  await published(store, publishOf('1'))
  await client.del(`${prefix}rows:registry`)
  await t.throwsAsync(store.changesAfter(position, 10), { message: 'Redis lacks rows: restore a backup' })
})

frozenContract(
  'redis',
  openAt(() => redis),
  1,
)
sharedStoreContract(
  'redis',
  openAt(() => redis),
  20,
)
sharedStoreContract(
  'redis cluster',
  openAt(() => cluster),
  5,
)
