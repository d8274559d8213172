import { randomBytes, randomUUID } from 'node:crypto'
import test, { type ExecutionContext } from 'ava'
import { redisBreakerState } from '../../../src/cache/redis-breaker-state.ts'
import { redisPulls, TURN_MS } from '../../../src/cache/redis-pulls.ts'
import { systemClock } from '../../../src/domain/clock.ts'
import type { Item } from '../../../src/domain/source/item.ts'
import { fakeItem } from '../../helpers/fake-source.ts'
import { redisClient, testRedis } from '../../helpers/redis.ts'

test('breaker state: replicas share the time until which a breaker is open', async (t) => {
  const redis = await testRedis()
  t.teardown(redis.dispose)
  const client = redisClient(t, redis.url)
  const key = `test:${randomUUID()}:`
  const { monotonic: now } = systemClock
  const [one, other] = [redisBreakerState({ client, key, now }), redisBreakerState({ client, key, now })]
  t.is(await one.read(), null)
  const until = now() + 60_000
  await one.write(until)
  const read = await other.read()
  t.true(read !== null && Math.abs(read - until) < 10_000, 'the clocks of replicas may differ')
  t.true((await client.pttl(key)) > 50_000)
  await one.write(now() - 1)
  t.is(await other.read(), null)
  await client.set(key, 'without an end')
  t.is(await other.read(), null)
})

const PULLED = { takenAt: 7, tookMs: 3, totals: { total: 1, counts: null }, invalid: 2, gatewayId: 'eu' }

/** Pulls of one upstream, as several replicas share them. */
async function openPulls(t: ExecutionContext) {
  const redis = await testRedis()
  t.teardown(redis.dispose)
  const client = redisClient(t, redis.url)
  const key = `test:${randomUUID()}:`
  t.teardown(() => client.del(key, `${key}:turn`))
  const replica = (identity = 'one upstream, one key', now = 1_000_000) =>
    redisPulls({ client, key, identity, maxBytes: () => 1000, now: () => now })
  return { client, key, replica }
}

function listingsOf(text: string): Map<string, Item> {
  return new Map([['a', fakeItem('a', 1, { bytes: Buffer.from(text) })]])
}

test('shared pulls: one loads byte for byte, for its own identity, within its budget', async (t) => {
  const { replica, client, key } = await openPulls(t)
  const one = replica()
  t.is(await one.latest(), null)
  const listings = listingsOf('{"listing_id":"a", "n": 99.0 ,"é":1180591620717411303424}')
  const missing = [{ registry: 'eu/x', state: 'unavailable', heardAt: 5 }] as const
  const named = await one.share({ ...PULLED, missing, listings })
  const { takenAt = 0, missing: gaps = [], ...about } = (await replica().latest()) ?? {}
  const { takenAt: _, ...rest } = PULLED
  t.deepEqual(about, { ...rest, ...named })
  t.true(takenAt <= 7, 'it has aged since by the clock of Redis')
  t.like(gaps, [{ registry: 'eu/x', state: 'unavailable', heardAt: takenAt - 2 }])
  t.deepEqual(await replica().listings(named.hash), listings)
  t.is(await replica('one upstream, another key').listings(named.hash), null)
  const later = await replica(undefined, 1_000_000 + 3_600_000).latest()
  t.true(later !== null && later.takenAt > 3_000_000, 'whatever the clocks of replicas are')

  const noise = JSON.stringify(randomBytes(2000).toString('hex'))
  await t.throwsAsync(one.share({ ...PULLED, listings: listingsOf(`{"a":${noise}}`) }), {
    message: /max_bytes/,
  })
  t.deepEqual(await one.listings(named.hash), listings)
  await client.hset(key, { listings: 'no gzip', about: '{}' })
  await t.throwsAsync(one.listings(named.hash))
  await t.throwsAsync(one.latest(), { instanceOf: SyntaxError })
})

test('shared pulls: equal listings have one hash, and others replace them', async (t) => {
  const { replica } = await openPulls(t)
  const [one, other] = [replica(), replica()]
  const [before, same] = [
    await one.share({ ...PULLED, listings: listingsOf('{"n":1}') }),
    await other.share({ ...PULLED, listings: listingsOf('{"n":1}') }),
  ]
  t.is(same.hash, before.hash)
  t.not(same.id, before.id)
  const after = await one.share({ ...PULLED, listings: listingsOf('{"n":2}') })
  t.is(await other.listings(before.hash), null)
  t.deepEqual(await other.listings(after.hash), listingsOf('{"n":2}'))
})

test('shared pulls: one replica has the turn, until it ends it or a minute is over', async (t) => {
  const { replica, client, key } = await openPulls(t)
  const [one, other] = [replica(), replica()]
  t.deepEqual([await one.takeTurn(), await other.takeTurn()], [true, false])
  await other.endTurn()
  t.false(await other.takeTurn(), 'it is not theirs to end')
  t.true((await client.pttl(`${key}:turn`)) <= TURN_MS)
  await one.endTurn()
  t.true(await other.takeTurn())
})
