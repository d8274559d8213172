import { randomUUID } from 'node:crypto'
import test from 'ava'
import { Redis } from 'ioredis'
import type { PublishCommand, UsedSignature } from '../../../../src/store/commands.ts'
import { openRedisStore } from '../../../../src/store/redis/open.ts'
import { startRedis, startSpreadCluster, testRedis } from '../../../helpers/redis.ts'
import {
  BOB,
  loaded,
  type OpenStore,
  published,
  publishOf,
  removeOf,
} from '../../../helpers/store/subject.ts'
import { frozenContract } from '../contract/frozen.ts'
import { storeContract } from '../contract.ts'

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

test('redis: a write whose use was looked up asks Redis once more, whose commit finds out what was written meanwhile', async (t) => {
  const server = await startRedis()
  t.teardown(() => server.dispose())
  const { store, another } = await openAt(() => server)(t)
  const other = await another()
  const client = new Redis(server.url)
  t.teardown(() => client.disconnect())
  await published(store, publishOf('L'))
  await published(store, publishOf('M'))
  const scripts = async () => Number(/evalsha:calls=(\d+)/.exec(await client.info('commandstats'))?.[1])
  const looked = async (command: PublishCommand) => {
    const { identity, listingId, use } = command
    await store.hasUse(
      { operation: 'publish', listingId, signature: (use as UsedSignature).signature },
      identity,
    )
    return command
  }
  const before = await scripts()
  await published(store, await looked(publishOf('N')))
  t.is((await scripts()) - before, 2)

  const late = await looked(publishOf('O', { identity: BOB }))
  await published(other, publishOf('O'))
  t.deepEqual(await store.publish(late), { outcome: 'not_owner' })
  const removal = removeOf('P')
  const { identity, listingId, use } = removal
  await store.hasUse(
    { operation: 'remove', listingId, signature: (use as UsedSignature).signature },
    identity,
  )
  await published(other, publishOf('P'))
  t.deepEqual(await store.remove(removal), { outcome: 'removed' })
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
storeContract(
  'redis',
  openAt(() => redis),
  20,
)
storeContract(
  'redis cluster',
  openAt(() => cluster),
  5,
)
