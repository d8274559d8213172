import test from 'ava'
import { createLimiter } from '../../../src/limits/limiter.ts'
import { openRedisCounters, type RedisCounters } from '../../../src/store/redis/open.ts'
import { eventually } from '../../helpers/eventually.ts'
import { ownRedis, startRedis, startRedisCluster } from '../../helpers/redis.ts'

const LIMITS = {
  anonymousPerMinute: 0,
  readKeyPerMinute: 4,
  publishPerMinute: 300,
  principalPerMinute: 0,
  trustedProxies: [],
}

for (const [name, start] of [
  ['Redis', () => startRedis()],
  ['Cluster', () => startRedisCluster()],
] as const)
  test(`two replicas on one ${name} count together, and alone without waiting while it is away`, async (t) => {
    const redis = await start()
    t.teardown(() => redis.dispose())
    const replica = async () => {
      const counters = await openRedisCounters(redis.url)
      t.teardown(() => counters.close())
      const limiter = createLimiter(LIMITS, counters)
      const remaining = async (caller: string) => (await limiter('read_key', caller)!).remaining
      return { counters, limiter, remaining }
    }
    const [a, b] = [await replica(), await replica()]
    t.deepEqual([await a.remaining('key:1'), await b.remaining('key:1')], [3, 2])
    t.is((await a.limiter('read_key', 'key:1'))?.exceeded, false)
    t.is((await b.limiter('read_key', 'key:1'))?.exceeded, false)
    t.is((await a.limiter('read_key', 'key:1'))?.exceeded, true)
    t.is((await b.limiter('read_key', 'key:1'))?.exceeded, true)

    await redis.end('SIGKILL')
    t.deepEqual([await a.remaining('key:1'), await b.remaining('key:1')], [3, 3], 'by its own count')
    await Promise.all(Array.from({ length: 100 }, () => a.limiter('read_key', 'key:2')))

    await redis.start()
    await Promise.all([answers(a.counters), answers(b.counters)])
    t.deepEqual([await a.remaining('key:3'), await b.remaining('key:3')], [3, 2], 'together again')
  })

test('Redis limiter: while Redis hangs the replica counts alone', async (t) => {
  const redis = await ownRedis(t)
  const counters = await openRedisCounters(redis.url)
  t.teardown(() => counters.close())
  const limiter = createLimiter(LIMITS, counters)
  redis.signal('SIGSTOP')
  t.is((await limiter('read_key', 'key:1'))?.remaining, 3)
  redis.signal('SIGCONT')
})

/** The client reconnects by itself; a Cluster needs a moment more to learn its slots. */
async function answers({ client, prefix }: RedisCounters): Promise<void> {
  await eventually(
    'answered',
    () => client.exists(`${prefix}any`).catch(() => null),
    (count) => count !== null,
  )
}
