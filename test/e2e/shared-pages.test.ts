import test from 'ava'
import { listingTexts } from '../helpers/fake-registry.ts'
import { startFake } from '../helpers/gateway.ts'
import { manualClock } from '../helpers/manual-clock.ts'
import { ownRedis } from '../helpers/redis.ts'
import { startRegistry } from '../helpers/registry.ts'

test('shared Readings: two replicas on one Redis send one request, without it two', async (t) => {
  const redis = await ownRedis(t)
  const fake = await startFake(t, { items: listingTexts('far', 3) })
  const clock = manualClock()
  const toml = `[[upstreams]]\nname = "far"\nurl = "${fake.url}"\nallow_private_addresses = true\n`
  const replica = () => startRegistry(t, { toml, clock, environment: { STORE_URL: redis.url } })
  const [one, other] = [await replica(), await replica()]
  const requestCount = () => fake.requests.filter(({ path }) => path === '/listings').length

  const first = await one.get('/listings')
  t.is(first.status, 200)
  clock.advance(5000)
  const second = await other.get('/listings')
  t.like(second.json(), { count: 3, total_after_filter: 3, complete: true })
  t.like((second.json().sources as unknown[])[1], { registry: 'far', state: 'loaded', age_seconds: 5 })
  t.is(requestCount(), 1)

  await redis.end('SIGKILL')
  clock.advance(1_000_000)
  for (const { get } of [one, other]) t.like((await get('/listings')).json(), { count: 3, complete: true })
  t.is(requestCount(), 3)
})
