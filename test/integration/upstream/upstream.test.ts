import test from 'ava'
import { eventually } from '../../helpers/eventually.ts'
import { listingText, listingTexts } from '../../helpers/fake-registry.ts'
import { filterOf, specBody } from '../../helpers/specs.ts'
import { openUpstream } from '../../helpers/upstream.ts'

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
