import test from 'ava'
import { SourceError } from '../../src/domain/source-error.ts'
import { fetchInTurn, MAX_WAITING } from '../../src/upstream/fetch-in-turn.ts'
import type { ListingPage } from '../../src/upstream/listing-page.ts'
import { listingQuery } from './upstream-options.ts'

const PAGE: ListingPage = { bytes: Buffer.from('{}'), items: [], received: 0, total: 0 }

test('no more wait for their turn than may, the others are refused at once, and those who wait come to it', async (t) => {
  const held = Promise.withResolvers<ListingPage>()
  const fetch = fetchInTurn({ name: 'elsewhere', maxInFlight: 1 }, () => held.promise)
  const { signal } = new AbortController()
  const ask = () => fetch(listingQuery(), 0, signal)
  const first = ask()
  await new Promise((resolve) => setImmediate(resolve))
  const waiting = Array.from({ length: MAX_WAITING }, ask)
  const refusal = await t.throwsAsync(ask(), { instanceOf: SourceError })
  t.is(refusal?.reason, 'budget_spent')
  held.resolve(PAGE)
  t.is(await first, PAGE)
  t.is((await Promise.all(waiting)).length, MAX_WAITING)
  t.is(await ask(), PAGE)
})

test('who has gone while waiting is never asked for', async (t) => {
  const held = Promise.withResolvers<ListingPage>()
  let asked = 0
  const fetch = fetchInTurn({ name: 'elsewhere', maxInFlight: 1 }, () => {
    asked++
    return held.promise
  })
  const first = fetch(listingQuery(), 0, new AbortController().signal)
  const gone = new AbortController()
  const waiting = fetch(listingQuery(), 0, gone.signal)
  gone.abort(new Error('gone'))
  await t.throwsAsync(waiting, { message: 'gone' })
  held.resolve(PAGE)
  await first
  await new Promise((resolve) => setImmediate(resolve))
  t.is(asked, 1)
})
