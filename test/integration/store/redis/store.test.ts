import { randomUUID } from 'node:crypto'
import test from 'ava'
import { Redis } from 'ioredis'
import { openRedisStore } from '../../../../src/store/redis/open.ts'
import { startSpreadCluster, testRedis } from '../../../helpers/redis.ts'
import {
  freshUse,
  keyNamed,
  loaded,
  type OpenStore,
  published,
  publishOf,
} from '../../../helpers/store/subject.ts'
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

test('redis: a key of a store without expiries never expires', async (t) => {
  const prefix = `{entrepot-test-${randomUUID()}}:`
  const { store } = await openRedisStore(redis.url, { prefix })
  t.teardown(() => store.close())
  await store.addKey(keyNamed('old'))
  const client = new Redis(redis.url)
  t.teardown(() => client.disconnect())
  const row = await client.hget(`${prefix}api-keys`, '1')
  await client.hset(`${prefix}api-keys`, '1', row!.split('\u001f').slice(0, 5).join('\u001f'))
  t.like((await loaded(store)).changes, [{ kind: 'key', key: { name: 'old', expiresAt: null } }])
})

test('redis: uses of a store without first uses stay used, and bind neither key nor time', async (t) => {
  const prefix = `{entrepot-test-${randomUUID()}}:`
  const { store } = await openRedisStore(redis.url, { prefix })
  t.teardown(() => store.close())
  const { signature, now } = freshUse()
  const use = (later = 0) => freshUse({ signature, now: now + later })
  await published(store, publishOf('L', { keyId: 1, use: use() }))
  const client = new Redis(redis.url)
  t.teardown(() => client.disconnect())
  await client.hdel(`${prefix}use:${signature}`, 'first')
  t.is((await store.publish(publishOf('L', { use: use() }))).outcome, 'signature_reused')
  t.is((await store.publish(publishOf('M', { use: use(60_000_000), keyId: 2 }))).outcome, 'published')
})

test('redis: a store that lacks a publisher or a key is not loaded', async (t) => {
  const prefix = `{entrepot-test-${randomUUID()}}:`
  const { store } = await openRedisStore(redis.url, { prefix })
  t.teardown(() => store.close())
  await published(store, publishOf('L'))
  await store.addKey(keyNamed('lost'))
  const client = new Redis(redis.url)
  t.teardown(() => client.disconnect())
  for (const [kind, hash] of Object.entries({ key: 'api-keys', publisher: 'publishers' })) {
    const name = `${prefix}${hash}`
    await client.hset(name, '2', (await client.hget(name, '1'))!)
    await client.hdel(name, '1')
    await t.throwsAsync(loaded(store), { message: `Redis lacks ${kind} 1: restore a backup` })
    await client.del(name)
  }
})

test('redis: a store whose listings or publishers were evicted is not loaded', async (t) => {
  const client = new Redis(redis.url)
  t.teardown(() => client.disconnect())
  for (const evicted of ['listings', 'created', 'publishers', 'publisher-ids']) {
    const prefix = `{entrepot-test-${randomUUID()}}:`
    const open = async () => {
      const { store } = await openRedisStore(redis.url, { prefix })
      t.teardown(() => store.close())
      return store
    }
    await published(await open(), publishOf('L'))
    await client.del(prefix + evicted)
    const message = 'Redis lacks listings or publishers: restore a backup'
    await t.throwsAsync(loaded(await open()), { message }, evicted)
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
  await client.del(`${prefix}publishers`)
  await t.throwsAsync(store.changesAfter(position, 10), {
    message: 'Redis lacks publisher 1: restore a backup',
  })
})

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
