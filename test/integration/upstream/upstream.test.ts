import test from 'ava'
import { MAX_SEARCH_MS, PUBLISHERS_WAIT_MS } from '../../../src/upstream/publisher-directory.ts'
import { eventually } from '../../helpers/eventually.ts'
import { type Behaviour, listingText, listingTexts } from '../../helpers/fake-registry.ts'
import { filterOf, specBody } from '../../helpers/specs.ts'
import { failureOf, idsOf, openUpstream, PAST_DELETE, PAST_REVALIDATE } from '../../helpers/upstream.ts'

const ADDRESS = `0x${'a'.repeat(40)}`

test('status counts calls, failures, items and cache outcomes, and what the upstream last reported', async (t) => {
  const items = [...listingTexts('a', 260), listingText({ created_at: null })]
  const filterSpec = specBody('one', [filterOf('gpu_model')], 'vms.compute')
  const { read, status, fake, clock, ready } = await openUpstream(t, { items, filterSpec })
  await ready
  await read({}, { count: 300 })
  await read({ status: null })
  t.like(status(), { state: 'loaded', ageSeconds: 0, listings: 261, items: { received: 322, invalid: 1 } })
  t.like(status(), { schemaId: 'vms.compute', filters: ['gpu_model'] })
  clock.advance(PAST_REVALIDATE)
  fake.script = [{ kind: 'status', status: 502 }]
  t.like(await read(), { stale: true, reason: 'http_502' })
  t.like(status(), { state: 'stale', ageSeconds: 75, lastError: { reason: 'http_502', at: clock.now() } })
  t.like(status().calls, { made: 4, failed: 1, retried: 0, failuresByReason: { http_502: 1 }, ended: 4 })
  t.like(status().cache, { fresh: 0, stale: 1, miss: 2 })
  t.true(status().cache.bytes > 260 * 300)
  clock.advance(PAST_DELETE)
  t.is(status().state, 'unavailable')
})

test('a question that an upstream cannot answer does not change its state', async (t) => {
  const { read, status, fake } = await openUpstream(t, { items: listingTexts('a', 1) })
  await read()
  fake.script = [{ kind: 'status', status: 412 }]
  t.is((await failureOf(t, read({ publisher: ADDRESS }))).reason, 'http_412')
  t.like(status(), { state: 'loaded', lastError: null })
})

test('an open breaker also stops requests for filter specs and publishers', async (t) => {
  const publishers = [[1, ADDRESS]] as const
  const { read, status, fake, clock } = await openUpstream(t, { items: listingTexts('a', 1), publishers })
  await read()
  clock.advance(PAST_REVALIDATE)
  fake.script = [{ kind: 'status', status: 503 }]
  for (let n = 1; n <= 5; n++) {
    t.is(status().breaker.state, 'closed')
    t.like(await read(), { stale: true, reason: 'http_503' })
  }
  t.is(status().breaker.state, 'open')
  const requests = () =>
    [fake.requests, fake.specRequests, fake.publisherRequests].map(({ length }) => length)
  const before = requests()
  t.like(await read(), { stale: true, reason: 'http_503' })
  t.is((await failureOf(t, read({ publisher: ADDRESS }))).reason, 'http_503')
  t.deepEqual(requests(), before)

  fake.script = [{ kind: 'serve' }]
  clock.advance(10_000)
  const breakerState = () => {
    clock.advance(0)
    return status().breaker.state
  }
  await eventually('closed', breakerState, (state) => state === 'closed')
  t.like(await read(), { stale: false, cache: { outcome: 'miss' } })
})

test('a publisher that the upstream ignores is filtered here where all publishers are known', async (t) => {
  const items = [1, 2, 7].map((id) => listingText({ listing_id: `by-${id}`, publisher_id: id }))
  const all = [1, 2, 7].map((id) => [id, `0x${`${id}`.repeat(40)}`] as const)
  const query = { publisher: all[0]![1] }
  const { read } = await openUpstream(t, { items, publishers: all })
  t.deepEqual(idsOf(await read(query)), ['by-1'])
  t.like(await read(query), { total: 1, hasMore: false })
  const { read: readUnknown } = await openUpstream(t, { items, publishers: all.slice(1) })
  const error = await failureOf(t, readUnknown(query))
  t.deepEqual([error.reason, error.filters], ['unsupported_filter', ['publisher']])
})

test('a list of publishers that never comes delays one answer, and the answers are kept later', async (t) => {
  const publisherScript: Behaviour = { kind: 'hang' }
  const items = listingTexts('a', 3)
  const { read, fake, clock } = await openUpstream(t, { items, publishers: [], publisherScript })
  const first = read()
  await eventually('asked for publishers', () => fake.publisherRequests.length === 1)
  clock.advance(PUBLISHERS_WAIT_MS)
  for (const answer of [first, read(), read({ caching: 'no-cache' })])
    t.like(await answer, { total: 3, isCurrent: undefined })
  clock.advance(MAX_SEARCH_MS)
  t.true((await read({ caching: 'no-cache' })).isCurrent?.())
  t.is(fake.publisherRequests.length, 1)
})
