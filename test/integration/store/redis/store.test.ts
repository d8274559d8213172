import { randomUUID } from 'node:crypto'
import test from 'ava'
import type { PublishCommand, UsedSignature } from '../../../../src/store/commands.ts'
import {
  type OwnRedis,
  openAt,
  ownRedis,
  redisClient,
  redisStore,
  startRedisCluster,
  testRedis,
} from '../../../helpers/redis.ts'
import { BOB, loaded, published, publishOf, removeOf } from '../../../helpers/store/subject.ts'
import { frozenContract } from '../contract/frozen.ts'
import { storeContract } from '../contract.ts'

let redis: Awaited<ReturnType<typeof testRedis>>
let cluster: OwnRedis
test.before(async () => {
  ;[redis, cluster] = await Promise.all([testRedis(), startRedisCluster(3)])
})
test.after.always(() => Promise.all([redis?.dispose(), cluster?.dispose()]))

const openRedis = openAt(() => redis.url)

test('redis: a store of which rows were evicted is not loaded, and no publisher is a removed listing with its number', async (t) => {
  const client = redisClient(t, redis.url)
  const message = 'Redis lacks rows: restore a backup'
  for (const evicted of [
    ['rows:registry'],
    ['order:listings'],
    ['rows:listings', 'order:listings'],
    ['rows:facts'],
    ['order:guard'],
  ]) {
    const prefix = `{entrepot-test-${randomUUID()}}:`
    const store = await redisStore(t, redis.url, { prefix })
    const { position } = await loaded(store)
    await published(store, publishOf('1'))
    await client.del(...evicted.map((name) => prefix + name))
    await t.throwsAsync(loaded(await redisStore(t, redis.url, { prefix })), { message }, evicted.join())
    if (evicted[0] === 'rows:registry') await t.throwsAsync(store.changesAfter(position, 10), { message })
  }
})

test('redis: a write whose use was looked up asks Redis once more, whose commit finds out what was written meanwhile', async (t) => {
  const server = await ownRedis(t)
  const { store, another } = await openAt(() => server.url)(t)
  const other = await another()
  const client = redisClient(t, server.url)
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

frozenContract('redis', openRedis, 1)
storeContract('redis', openRedis, 20)
const openCluster = openAt(() => cluster.url)
storeContract('redis cluster', openCluster, 5)
