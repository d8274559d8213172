import { randomUUID } from 'node:crypto'
import test from 'ava'
import { redisNotice } from '../../src/cache/redis-notice.ts'
import { systemClock } from '../../src/domain/clock.ts'
import { connected, counterClient } from '../../src/store/redis-connection.ts'
import { startRedis } from '../helpers/redis.ts'

test('a notice stands until its time is over or it is taken back, for all who share the key', async (t) => {
  const redis = await startRedis()
  const client = counterClient(redis.url)
  t.teardown(async () => {
    client.disconnect()
    await redis.dispose()
  })
  await connected(client)
  const key = `test:${randomUUID()}`
  const [one, other] = [1, 2].map(() => redisNotice({ client, key, now: systemClock.now }))
  t.is(await one!.read(), null)
  const until = systemClock.now() + 60_000
  await one!.write(until)
  t.is(await other!.read(), until)
  t.true((await client.pttl(key)) > 50_000)
  await other!.write(null)
  t.is(await one!.read(), null)
  await one!.write(systemClock.now() - 1)
  t.is(await other!.read(), null)
  await client.set(key, 'nonsense')
  t.is(await other!.read(), null)
})
