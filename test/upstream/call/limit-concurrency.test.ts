import test from 'ava'
import { limitConcurrency, MAX_QUEUED } from '../../../src/upstream/call/limit-concurrency.ts'
import type { ListingPage } from '../../../src/upstream/page/listing-page.ts'
import { failureOf, listingQuery } from '../../helpers/upstream.ts'

test('a request beyond the longest queue fails at once, and the queued ones are made', async (t) => {
  const held = Promise.withResolvers<ListingPage>()
  const fetch = limitConcurrency({ name: 'elsewhere', maxInFlight: 1 }, () => held.promise)
  const ask = () => fetch(listingQuery(), { offset: 0, limit: 50 })
  const first = ask()
  await new Promise((resolve) => setImmediate(resolve))
  const queued = Array.from({ length: MAX_QUEUED }, ask)
  t.is((await failureOf(t, ask())).reason, 'budget_spent')
  const page = {} as ListingPage
  held.resolve(page)
  t.is(await first, page)
  t.is((await Promise.all(queued)).length, MAX_QUEUED)
  t.is(await ask(), page)
})
