import test from 'ava'
import { eventually } from '../../helpers/eventually.ts'
import { listingText, listingTexts } from '../../helpers/fake-registry.ts'
import { filterOf, specBody } from '../../helpers/specs.ts'
import { failureOf, openUpstream } from '../../helpers/upstream.ts'

test('status counts calls, failures and items, and what is held', async (t) => {
  const items = [...listingTexts('a', 260), listingText({ created_at: null })]
  const filterSpec = specBody('one', [filterOf('gpu_model')], 'vms.compute')
  const { status, fake, clock, ready, read } = await openUpstream(t, { items, filterSpec })
  await ready
  t.like(status(), { state: 'loaded', ageSeconds: 0, listings: 260, items: { received: 271, invalid: 1 } })
  t.like(status(), { schemaId: 'vms.compute', filters: ['gpu_model'] })
  t.true(status().bytes > 260 * 300)
  fake.script = [{ kind: 'status', status: 502 }]
  clock.advance(31_000)
  await eventually('failed', () => status().calls.failed === 1)
  t.like(await read(), { stale: true, reason: 'http_502' })
  t.like(status(), { state: 'stale', ageSeconds: 31, lastError: { reason: 'http_502', at: clock.now() } })
  t.like(status().calls, { made: 3, failed: 1, retried: 0, failuresByReason: { http_502: 1 }, ended: 3 })
})

test('an open breaker also stops requests for filter specs, publishers and single listings', async (t) => {
  const publishers = [[1, `0x${'a'.repeat(40)}`]] as const
  const { read, status, fake, clock, ready } = await openUpstream(t, {
    items: listingTexts('a', 1),
    publishers,
  })
  await ready
  fake.script = [{ kind: 'status', status: 503 }]
  for (let n = 1; n <= 5; n++) {
    t.is(status().breaker.state, 'closed')
    clock.advance(15_000)
    await eventually(`failed ${n} times`, () => status().calls.failed === n && clock.pending() > 0)
  }
  t.is(status().breaker.state, 'open')
  t.like(await read(), { stale: true, reason: 'http_503' })
  const requests = () =>
    [fake.requests, fake.specRequests, fake.publisherRequests].map(({ length }) => length)
  const before = requests()
  t.is((await failureOf(t, read({ listingId: 'other' }))).reason, 'http_503')
  t.deepEqual(requests(), before)

  fake.script = [{ kind: 'serve' }]
  clock.advance(10_000)
  const breakerState = () => {
    clock.advance(0)
    return status().breaker.state
  }
  await eventually('closed', breakerState, (state) => state === 'closed')
  clock.advance(15_000)
  await eventually('fresh', async () => !(await read()).stale)
  t.pass()
})
