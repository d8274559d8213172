import { randomUUID } from 'node:crypto'
import test, { type ExecutionContext } from 'ava'
import { RedisCache } from '../../src/cache/redis.ts'
import { TieredCache } from '../../src/cache/tiered.ts'
import { type Clock, systemClock } from '../../src/domain/clock.ts'
import type { UpstreamOptions } from '../../src/domain/upstream.ts'
import { connected, counterClient } from '../../src/store/redis-connection.ts'
import { type ListingPage, parseListingPage } from '../../src/upstream/listing-page.ts'
import { listingTexts } from '../helpers/fake-registry.ts'
import { manualClock } from '../helpers/manual-clock.ts'
import { type OwnRedis, startRedis } from '../helpers/redis.ts'
import { keepPages, PAST_FRESH, PAST_WAIT, pageCache, startUpstream } from './upstream-parts.ts'

let redis: OwnRedis
test.before(async () => {
  redis = await startRedis()
})
test.after.always(() => redis.dispose())

const codec = {
  encode: ({ bytes }: ListingPage) => bytes,
  decode: (bytes: Buffer) => parseListingPage(bytes),
}

/** Any number of replicas before one upstream, over one Redis. */
const start = async (t: ExecutionContext, clock: Clock, url = redis.url) => {
  const { fake, options } = await startUpstream(t, { items: listingTexts('a', 3) }, { timeoutMs: 60_000 })
  const prefix = `test:${randomUUID()}:`
  const replica = async (upstream: UpstreamOptions = options) => {
    const client = counterClient(url)
    await connected(client)
    t.teardown(() => client.disconnect())
    const far = new RedisCache({ client, prefix, maxGroupBytes: () => 2 ** 24, codec, now: clock.now })
    return keepPages(t, upstream, { clock, cache: new TieredCache(pageCache(clock), far) })
  }
  return { fake, replica }
}

test('a page that many replicas are asked for at once is fetched by one of them', async (t) => {
  const { fake, replica } = await start(t, systemClock)
  const replicas = await Promise.all([replica(), replica(), replica()])
  const held = Promise.withResolvers<void>()
  fake.script = [{ kind: 'hold', until: held.promise }]
  const answers = replicas.map(({ ask }) => ask())
  await fake.requested()
  held.resolve()
  const pages = await Promise.all(answers)
  t.deepEqual(
    pages.map(({ total }) => total),
    [3, 3, 3],
  )
  t.deepEqual(pages.map(({ cache }) => cache?.outcome).sort(), ['hit', 'hit', 'miss'])
  t.is(fake.requests.length, 1)
})

test('where the one that fetches it fails, the next one tries', async (t) => {
  const { fake, replica } = await start(t, systemClock)
  const replicas = await Promise.all([replica(), replica()])
  fake.script = [{ kind: 'status', status: 500 }, { kind: 'serve' }]
  const answers = await Promise.allSettled(replicas.map(({ ask }) => ask()))
  t.deepEqual(answers.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  t.is(fake.requests.length, 2)
})

test('a replica that starts has what the others have kept, with its age, also when the upstream is down', async (t) => {
  const clock = manualClock()
  const { fake, replica } = await start(t, clock)
  const { ask: first } = await replica()
  await first()
  clock.advance(PAST_FRESH - 1000)
  const { ask: second } = await replica()
  t.like(await second(), { total: 3, ageSeconds: 14, cache: { outcome: 'hit' } })
  clock.advance(PAST_WAIT)
  fake.script = [{ kind: 'status', status: 500 }]
  const { ask: third } = await replica()
  t.like(await third(), { total: 3, ageSeconds: 89, stale: true, reason: 'http_500' })
  t.is(fake.requests.length, 2)
})

test('what is fresh elsewhere is not fetched again', async (t) => {
  const clock = manualClock()
  const { fake, replica } = await start(t, clock)
  const [{ ask: one }, { ask: other }] = [await replica(), await replica()]
  await one()
  await other()
  clock.advance(PAST_WAIT)
  fake.items = listingTexts('b', 5)
  t.is((await one()).total, 5)
  t.like(await other(), { total: 5, ageSeconds: 0, cache: { outcome: 'hit' } })
  t.is(fake.requests.length, 2)
})

test('a refresh here is a refresh for all that is not at hand elsewhere', async (t) => {
  const clock = manualClock()
  const { fake, replica } = await start(t, clock)
  const { ask: one, pages } = await replica()
  await one()
  pages.drop()
  const { ask: other } = await replica()
  t.is((await other()).cache?.outcome, 'miss')
  t.is(fake.requests.length, 2)
})

test('another key has other pages', async (t) => {
  const clock = manualClock()
  const { fake, replica } = await start(t, clock)
  await (await replica()).ask()
  const { options } = await startUpstream(t)
  const { ask } = await replica({ ...options, url: fake.url, key: 'another' })
  t.is((await ask()).cache?.outcome, 'miss')
})

test('without Redis every replica answers by itself', async (t) => {
  const own = await startRedis()
  t.teardown(own.dispose)
  const clock = manualClock()
  const { fake, replica } = await start(t, clock, own.url)
  const [{ ask: one }, { ask: other }] = [await replica(), await replica()]
  await own.end('SIGKILL')
  t.is((await one()).cache?.outcome, 'miss')
  t.is((await one()).cache?.outcome, 'hit')
  t.is((await other()).cache?.outcome, 'miss')
  t.is(fake.requests.length, 2)
})
