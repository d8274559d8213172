import test, { type ExecutionContext } from 'ava'
import type { ListingQuery } from '../../src/domain/query.ts'
import { SourceError, type SourceReason } from '../../src/domain/source-error.ts'
import type { UpstreamOptions } from '../../src/domain/upstream.ts'
import { createUpstreamSource } from '../../src/gateway/upstream-source.ts'
import { readPrefix } from '../../src/upstream/read-prefix.ts'
import { JUST_LATE_MS, SpecKeeper } from '../../src/upstream/spec-keeper.ts'
import { type FakeOptions, listingTexts } from '../helpers/fake-registry.ts'
import { filterOf } from '../helpers/specs.ts'
import { listingQuery } from './gateway-parts.ts'
import {
  eventually,
  fetchOver,
  PAST_DELETE,
  PAST_WAIT,
  POLICY,
  pageCache,
  startUpstream,
} from './upstream-parts.ts'

/** One upstream put together as the service does it, whose filter spec is not to be had. */
const start = async (
  t: ExecutionContext,
  fakeOptions: FakeOptions = {},
  upstream: Partial<UpstreamOptions> = {},
  reason: SourceReason = 'http_404',
) => {
  const { fake, clock, options } = await startUpstream(t, fakeOptions, upstream)
  const vocabulary = new SpecKeeper(async () => {
    throw new SourceError(reason, 'no filter spec')
  }, clock)
  const assembled = createUpstreamSource({
    upstream: options,
    fetch: fetchOver(t, options),
    read: (fetch) => (query, signal) => readPrefix(options, fetch, query, signal),
    vocabulary,
    schema: null,
    cache: pageCache(clock),
    policy: POLICY,
    budgetMs: 4000,
    clock,
    random: () => 0.5,
  })
  t.teardown(() => assembled.close())
  const ask = (query: Partial<ListingQuery> = {}) =>
    assembled.source.ask(listingQuery(query), new AbortController().signal)
  return { ...assembled, ask, fake, clock }
}

const reasonOf = async (t: ExecutionContext, answer: Promise<unknown>) =>
  (await t.throwsAsync(answer, { instanceOf: SourceError }))?.reason

test('who has waited in vain for its first filter spec is not made to wait again', async (t) => {
  const { ask, fake, clock } = await start(t, { items: listingTexts('a', 3) }, {}, 'timeout')
  const filter = filterOf('gpu_model')
  const criteria = [{ filter, onMissing: 'fail', test: { op: 'in', values: new Set(['H100']) } } as const]
  t.is(await reasonOf(t, ask({ criteria, filters: [['gpu_model', 'H100']] })), 'timeout')
  t.is(fake.requests.length, 0)
  t.is((await ask()).items.length, 3, 'what needs no filter spec has not waited')
  clock.advance(JUST_LATE_MS)
  t.is((await ask({ criteria, filters: [['gpu_model', 'H100']] })).items.length, 3)
  t.is(fake.requests.length, 2)
})

test('before anything was asked nothing is claimed', async (t) => {
  const { status } = await start(t, {}, { name: 'curated', visibility: 'private' })
  t.deepEqual(status(), {
    name: 'curated',
    mode: 'live',
    visibility: 'private',
    state: 'not_yet_loaded',
    ageSeconds: null,
    lastError: null,
    schemaId: null,
    filters: null,
    listings: null,
    breaker: { state: 'closed', failuresInARow: 0, retryAt: null },
    cache: { fresh: 0, stale: 0, miss: 0, bytes: 0 },
    calls: { made: 0, failed: 0, retried: 0, failuresByReason: {}, ended: 0, elapsedMs: 0 },
    items: { received: 0, invalid: 0 },
  })
})

test('what became of its calls is told, and what it last said it has', async (t) => {
  const { ask, status, fake, clock } = await start(t, { items: listingTexts('a', 260) })
  await ask()
  await ask({ publisher: '0xabc', status: null })
  t.like(status(), { state: 'loaded', ageSeconds: 0, listings: 260 })
  clock.advance(PAST_WAIT)
  fake.script = [{ kind: 'status', status: 502 }]
  t.like(await ask(), { stale: true, reason: 'http_502' })
  t.like(status(), { state: 'stale', ageSeconds: 75, lastError: { reason: 'http_502', at: clock.now() } })
  t.deepEqual(status().calls, {
    made: 4,
    failed: 2,
    retried: 1,
    failuresByReason: { http_502: 2 },
    ended: 4,
    elapsedMs: 0,
  })
  t.like(status().cache, { fresh: 0, stale: 1, miss: 2 })
  clock.advance(PAST_DELETE)
  t.is(status().state, 'unavailable')
})

test('a question that it cannot take says nothing about how it is', async (t) => {
  const { ask, status, fake } = await start(t)
  await ask()
  fake.script = [{ kind: 'status', status: 412 }]
  t.is(await reasonOf(t, ask({ publisher: '0xabc' })), 'http_412')
  t.like(status(), { state: 'loaded', lastError: null })
})

test('a call and its retry count once for the breaker, and once it is open nobody is asked', async (t) => {
  const { ask, status, fake, clock } = await start(t, { items: listingTexts('a', 1) })
  await ask()
  clock.advance(PAST_WAIT)
  fake.script = [{ kind: 'status', status: 503 }]
  for (let n = 1; n <= 5; n++) {
    t.is(status().breaker.state, 'closed')
    t.like(await ask(), { stale: true, reason: 'http_503' })
  }
  t.is(status().breaker.state, 'open')
  const asked = fake.requests.length
  t.is(asked, 11)
  t.like(await ask(), { stale: true, reason: 'circuit_open' })
  t.is(await reasonOf(t, ask({ publisher: '0xabc' })), 'circuit_open')
  t.is(fake.requests.length, asked)

  fake.script = [{ kind: 'serve' }]
  clock.advance(10_000)
  await fake.requested(asked + 1)
  await eventually(() => status().breaker.state === 'half_open' && status().calls.made === asked + 1)
  while (status().breaker.state === 'half_open') {
    clock.advance(0)
    await new Promise((resolve) => setImmediate(resolve))
  }
  t.is(status().breaker.state, 'closed')
  t.is(fake.requests.length, asked + 2)
  t.like(await ask(), { stale: false, cache: { outcome: 'miss' } })
})

test('a refresh has the next question asked anew', async (t) => {
  const { ask, refresh, fake } = await start(t)
  await ask()
  refresh()
  t.is((await ask()).cache?.outcome, 'miss')
  t.is(fake.requests.length, 2)
})
