import test, { type ExecutionContext } from 'ava'
import type { UpstreamOptions } from '../../../src/domain/source/upstream.ts'
import { idOf, listingTexts } from '../../helpers/fake-registry.ts'
import { startFake } from '../../helpers/gateway.ts'
import { type ManualClock, manualClock } from '../../helpers/manual-clock.ts'
import { type OwnRedis, startRedis } from '../../helpers/redis.ts'
import { openRedisCache, testPrefix } from '../../helpers/redis-cache.ts'
import { openUpstream, PAST_FRESH, PAST_REVALIDATE } from '../../helpers/upstream.ts'

let redis: OwnRedis
test.before(async () => {
  redis = await startRedis()
})
test.after.always(() => redis.dispose())

/** Any number of replicas of one upstream, over one Redis. */
async function start(t: ExecutionContext, { url = redis.url, clock = manualClock(), count = 3 } = {}) {
  const fake = await startFake(t, { items: listingTexts('a', count) })
  const prefix = testPrefix()
  const replica = async (options: Partial<UpstreamOptions> = {}) => {
    const sharedRuns = await openRedisCache(t, { url, clock, prefix, maxGroupBytes: 2 ** 24 })
    return openUpstream(t, {}, { fake, clock, parts: { sharedRuns }, timeoutMs: 60_000, ...options })
  }
  return { fake, clock, replica }
}

/** Lets replicas that poll a lock go on until the promise settles, and no faster than HTTP and Redis answer. */
async function goOn<T>(clock: ManualClock, promise: Promise<T>): Promise<T> {
  let isDone = false
  promise
    .catch(() => {})
    .finally(() => {
      isDone = true
    })
  while (!isDone) {
    clock.advance(1)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  return promise
}

test('a run that all replicas are asked for at once is read by one of them', async (t) => {
  const { fake, clock, replica } = await start(t)
  const replicas = await Promise.all([replica(), replica(), replica()])
  const held = Promise.withResolvers<void>()
  fake.script = [{ kind: 'hold', until: held.promise }]
  const answers = Promise.all(replicas.map(({ read }) => read()))
  await fake.requested()
  held.resolve()
  t.deepEqual(
    (await goOn(clock, answers)).map(({ total }) => total),
    [3, 3, 3],
  )
  t.is(fake.requests.length, 1)
})

test('where the replica that reads fails, the next one tries', async (t) => {
  const { fake, clock, replica } = await start(t)
  const replicas = await Promise.all([replica(), replica()])
  fake.script = [{ kind: 'status', status: 404 }, { kind: 'serve' }]
  const answers = await goOn(clock, Promise.allSettled(replicas.map(({ read }) => read())))
  t.deepEqual(answers.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  t.is(fake.requests.length, 2)
})

test('a new replica has the runs of the others, with their age, even if the upstream is down', async (t) => {
  const { fake, clock, replica } = await start(t)
  const asOf = clock.now()
  await (await replica()).read()
  clock.advance(PAST_FRESH - 1000)
  const second = await replica()
  t.like(await second.read(), { total: 3, asOf, cache: { outcome: 'hit' } })
  clock.advance(PAST_REVALIDATE)
  fake.script = [{ kind: 'status', status: 404 }]
  const third = await replica()
  t.like(await third.read(), { total: 3, asOf, stale: true, reason: 'http_404' })
  t.is(fake.requests.length, 2)
})

test('a run that another replica has refreshed is not read again', async (t) => {
  const { fake, clock, replica } = await start(t)
  const [one, other] = [await replica(), await replica()]
  await one.read()
  await other.read()
  clock.advance(PAST_REVALIDATE)
  fake.items = listingTexts('b', 5)
  t.is((await one.read()).total, 5)
  t.is((await other.read()).total, 5)
  t.is(fake.requests.length, 2)
})

test('a run with skipped listings is shared like any other', async (t) => {
  const { fake, replica } = await start(t, { count: 120 })
  fake.failing = new Set([idOf(fake.items[60]!)])
  await (await replica()).read({}, { count: 100 })
  const before = fake.requests.length
  const other = await replica()
  t.like(await other.read({}, { count: 100 }), { cache: { outcome: 'hit' }, invalid: 1 })
  t.is(fake.requests.length, before)
})

test('a refresh drops what the replicas share', async (t) => {
  const { fake, clock, replica } = await start(t)
  const one = await replica()
  await one.read()
  one.refresh()
  const other = await replica()
  // The drop is on its way.
  t.is((await goOn(clock, other.read({ caching: 'no-cache' }))).cache?.outcome, 'miss')
  t.is(fake.requests.length, 3, 'a refresh also sends a probe')
})

test('another key shares nothing', async (t) => {
  const { fake, replica } = await start(t)
  await (await replica()).read()
  const other = await replica({ key: 'another' })
  t.is((await other.read()).cache?.outcome, 'miss')
  t.is(fake.requests.length, 2)
})
