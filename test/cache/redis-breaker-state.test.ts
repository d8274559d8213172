import test from 'ava'
import { redisBreakerState } from '../../src/cache/redis-breaker-state.ts'
import { systemClock } from '../../src/domain/clock.ts'
import { testRedis } from '../helpers/redis.ts'
import { openRedisClient, testPrefix } from '../helpers/redis-cache.ts'

test('breaker state: replicas share the time until which a breaker is open', async (t) => {
  const redis = await testRedis()
  t.teardown(redis.dispose)
  const client = await openRedisClient(t, redis.url)
  const key = testPrefix()
  const { now } = systemClock
  const [one, other] = [redisBreakerState({ client, key, now }), redisBreakerState({ client, key, now })]
  t.is(await one.read(), null)
  const until = now() + 60_000
  await one.write(until)
  t.is(await other.read(), until)
  t.true((await client.pttl(key)) > 50_000)
  await other.write(null)
  t.is(await one.read(), null)
  await one.write(now() - 1)
  t.is(await other.read(), null)
  await client.set(key, 'nonsense')
  t.is(await other.read(), null)
})
