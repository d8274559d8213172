import test from 'ava'
import { Redis } from 'ioredis'
import { copyStore } from '../../../../src/store/copy.ts'
import { createRedisCopy } from '../../../../src/store/redis/copy.ts'
import { openRedisStore } from '../../../../src/store/redis/open.ts'
import { openSqliteStore } from '../../../../src/store/sqlite/store.ts'
import { ownRedis, startRedis } from '../../../helpers/redis.ts'
import { BOB, published, publishOf, removeOf } from '../../../helpers/store/subject.ts'

const redis = await startRedis()
test.after.always(() => redis.dispose())

test('Redis counts: listings written by a version without counts are counted on open', async (t) => {
  const operator = new Redis(redis.url)
  t.teardown(() => operator.disconnect())
  const open = async () => {
    const { store } = await openRedisStore(redis.url)
    t.teardown(() => store.close())
    return store
  }
  const before = await open()
  for (let n = 0; n < 250; n++) await published(before, publishOf(`L${n}`))
  await published(before, publishOf('M', { identity: BOB }))
  const counts = '{entrepot}:listing-counts'
  const right = { 1: '250', 2: '1' }
  t.deepEqual(await operator.hgetall(counts), right)
  await operator.del(counts)
  const store = await open()
  t.deepEqual(await operator.hgetall(counts), right)
  t.is((await store.publish(publishOf('N', { maxListings: 250 }))).outcome, 'too_many_listings')
  await operator.hincrby(counts, '1', -3) // a version without counts writes beside this one
  await open()
  t.deepEqual(await operator.hgetall(counts), right)
  await store.remove(removeOf('M', { identity: BOB }))
  t.is((await operator.hget(counts, '2')) ?? '0', '0')
})

test('Redis counts: a restore brings them, so Redis reads no listings to count them', async (t) => {
  const { url } = await ownRedis(t)
  const source = openSqliteStore(':memory:')
  for (let n = 0; n < 300; n++) await published(source, publishOf(`L${n}`))
  await published(source, publishOf('M', { identity: BOB }))
  const target = async () => {
    const copy = await createRedisCopy(url)
    const flush = copy.flush.bind(copy)
    copy.flush = async () => {
      await flush()
      copy.flush = flush
      await source.remove(removeOf('L0'))
      await source.remove(removeOf('M', { identity: BOB }))
      await published(source, publishOf('L0', { identity: BOB }))
    }
    return copy
  }
  await copyStore(async () => source, target)
  const operator = new Redis(url)
  t.teardown(() => operator.disconnect())
  t.deepEqual(await operator.hgetall('{entrepot}:listing-counts'), { 1: '299', 2: '1' })
  const commands = await operator.info('commandstats')
  t.regex(commands, /cmdstat_hlen:/)
  t.notRegex(commands, /cmdstat_zrange:/)
})
