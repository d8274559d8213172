import test from 'ava'
import { SourceError, type SourceReason } from '../../src/domain/source-error.ts'
import { MAX_RETRIES_SAVED, RETRY_SHARE } from '../../src/gateway/retry-budget.ts'
import { withRetry } from '../../src/gateway/with-retry.ts'
import type { FetchListings } from '../../src/upstream/fetch-listings.ts'
import type { ListingPage } from '../../src/upstream/listing-page.ts'
import { manualClock } from '../helpers/manual-clock.ts'
import { listingQuery } from './gateway-parts.ts'

const PAGE: ListingPage = { bytes: Buffer.from('{}'), items: [], received: 0, total: 0 }
const BUDGET_MS = 4000

type Extras = ConstructorParameters<typeof SourceError>[2]

/** Fails the first `failures` attempts, each of which takes `ms`. */
const start = (
  reason: SourceReason,
  { failures = 1, ms = 0, extras = {} as Extras, abort = () => {} } = {},
) => {
  const clock = manualClock()
  const seen = { attempts: 0, retries: 0 }
  const fetch: FetchListings = async () => {
    clock.advance(ms)
    abort()
    if (++seen.attempts <= failures) throw new SourceError(reason, `failure ${seen.attempts}`, extras)
    return PAGE
  }
  const options = { budgetMs: BUDGET_MS, clock, random: () => 0, onRetry: () => void seen.retries++ }
  const retrying = withRetry(fetch, options)
  const ask = (signal = new AbortController().signal) => retrying(listingQuery(), 0, signal)
  return { ask, seen }
}

for (const reason of [
  'connection_refused',
  'connection_reset',
  'http_502',
  'http_503',
  'http_504',
] as const) {
  test(`${reason} is asked again once`, async (t) => {
    const { ask, seen } = start(reason)
    t.is(await ask(), PAGE)
    t.deepEqual(seen, { attempts: 2, retries: 1 })
    const down = start(reason, { failures: 9 })
    await t.throwsAsync(down.ask(), { instanceOf: SourceError, message: 'failure 2' })
    t.deepEqual(down.seen, { attempts: 2, retries: 1 })
  })
}

for (const reason of [
  'timeout',
  'dns',
  'tls',
  'http_500',
  'http_400',
  'http_404',
  'http_412',
  'http_302',
  'unauthorized',
  'rate_limited',
  'unsupported_filter',
  'not_json',
  'bad_envelope',
  'too_large',
  'budget_spent',
] as const) {
  test(`${reason} is not asked again`, async (t) => {
    const { ask, seen } = start(reason)
    await t.throwsAsync(ask(), { message: 'failure 1' })
    t.deepEqual(seen, { attempts: 1, retries: 0 })
  })
}

test('a connection that took too long is a connection that failed', async (t) => {
  const cause = Object.assign(new Error('connect timeout'), { code: 'UND_ERR_CONNECT_TIMEOUT' })
  const { ask } = start('timeout', { extras: { cause } })
  t.is(await ask(), PAGE)
})

test('who says when to come back is not asked before', async (t) => {
  const { ask, seen } = start('http_503', { extras: { retryAfterMs: 0 } })
  await t.throwsAsync(ask())
  t.is(seen.attempts, 1)
})

test('only where a second attempt as long as the first ends within the budget', async (t) => {
  t.is(await start('http_502', { ms: 1900 }).ask(), PAGE)
  const late = start('http_502', { ms: 2000 })
  await t.throwsAsync(late.ask())
  t.is(late.seen.attempts, 1)
})

test('not for a caller who has hung up', async (t) => {
  const caller = new AbortController()
  const { ask, seen } = start('connection_reset', { abort: () => caller.abort() })
  await t.throwsAsync(ask(caller.signal))
  t.is(seen.attempts, 1)
})

test('an upstream that is down is asked a tenth more often, and no more', async (t) => {
  const { ask, seen } = start('connection_refused', { failures: Number.POSITIVE_INFINITY })
  const calls = 1000
  for (let n = 0; n < calls; n++) await t.throwsAsync(ask())
  t.true(seen.retries >= calls * RETRY_SHARE)
  t.true(seen.retries <= calls * RETRY_SHARE + MAX_RETRIES_SAVED)
  t.is(seen.attempts, calls + seen.retries)
})

test('a fault of our own is not tried again', async (t) => {
  let attempts = 0
  const broken: FetchListings = async () => {
    attempts++
    throw new TypeError('bug')
  }
  const options = { budgetMs: BUDGET_MS, clock: manualClock(), random: () => 0, onRetry: () => {} }
  const asking = withRetry(broken, options)(listingQuery(), 0, new AbortController().signal)
  await t.throwsAsync(asking, { instanceOf: TypeError })
  t.is(attempts, 1)
})
