import test, { type ExecutionContext } from 'ava'
import type { SourceReason } from '../../../src/domain/source/source-reason.ts'
import { MAX_SAVED_RETRIES, RETRY_SHARE, retry } from '../../../src/upstream/call/retry.ts'
import { createFetchPage } from '../../../src/upstream/page/fetch-page.ts'
import { envelopeText } from '../../helpers/fake-registry.ts'
import { type ScriptedAnswer, scriptAnswers } from '../../helpers/scripted-answers.ts'
import { failureOf, listingQuery, upstreamOptions } from '../../helpers/upstream.ts'

const GOOD: ScriptedAnswer = [200, envelopeText([], 0)]
const BUDGET_MS = 4000

type Failure = ScriptedAnswer | NodeJS.ErrnoException

function errorOf(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(code), { code })
}

/** The first `failures` requests fail so, and each takes `ms`. */
function start(t: ExecutionContext, failure: Failure, { failures = 1, ms = 0 } = {}) {
  let now = 0
  let retries = 0
  const { url, agent, seen } = scriptAnswers(t, (_url, request) => {
    now += ms
    return request <= failures ? failure : GOOD
  })
  const clock = {
    now: () => now,
    after: (_ms: number, act: () => void) => {
      setImmediate(act)
      return () => {}
    },
  }
  const options = { budgetMs: BUDGET_MS, clock, random: () => 0, onRetry: () => void retries++ }
  const fetchPage = retry(options, createFetchPage(upstreamOptions({ url }), agent))
  const fetch = () => fetchPage(listingQuery(), { offset: 0, limit: 50 })
  return { fetch, seen, retries: () => retries }
}

/** The matrix of `e2e/fault-cases.ts` counts the requests of the others. */
test('a connection that fails and a gateway that answers 502 or 504 are retried once', async (t) => {
  for (const failure of [
    errorOf('ECONNREFUSED'),
    errorOf('UND_ERR_CONNECT_TIMEOUT'),
    [502, ''],
    [504, ''],
  ] satisfies Failure[]) {
    const { fetch, seen, retries } = start(t, failure)
    t.is((await fetch()).received, 0)
    t.deepEqual([seen.length, retries()], [2, 1])
    const down = start(t, failure, { failures: 9 })
    await failureOf(t, down.fetch())
    t.deepEqual([down.seen.length, down.retries()], [2, 1])
  }
})

test('what a second attempt would not change is not retried, nor a 503 with Retry-After', async (t) => {
  for (const [reason, failure] of [
    ['dns', errorOf('ENOTFOUND')],
    ['tls', errorOf('CERT_HAS_EXPIRED')],
    ['http_400', [400, '{}']],
    ['rate_limited', [429, '']],
    ['http_503', [503, '', { 'retry-after': '0' }]],
  ] satisfies [SourceReason, Failure][]) {
    const { fetch, seen } = start(t, failure)
    t.is((await failureOf(t, fetch())).reason, reason)
    t.is(seen.length, 1)
  }
})

test('a retry is made only if a second attempt as long as the first ends within the budget', async (t) => {
  t.is((await start(t, [502, ''], { ms: 1900 }).fetch()).received, 0)
  const late = start(t, [502, ''], { ms: 2000 })
  await failureOf(t, late.fetch())
  t.is(late.seen.length, 1)
})

test('an upstream that is down gets a tenth more requests', async (t) => {
  const { fetch, seen, retries } = start(t, [502, ''], { failures: Number.POSITIVE_INFINITY })
  const calls = 200
  for (let n = 0; n < calls; n++) await failureOf(t, fetch())
  t.true(retries() >= calls * RETRY_SHARE)
  t.true(retries() <= calls * RETRY_SHARE + MAX_SAVED_RETRIES)
  t.is(seen.length, calls + retries())
})

test('a fault of this program is not retried', async (t) => {
  let calls = 0
  const clock = { now: () => 0, after: () => () => {} }
  const broken = retry({ budgetMs: BUDGET_MS, clock, random: () => 0, onRetry: () => {} }, async () => {
    calls++
    throw new TypeError('bug')
  })
  await t.throwsAsync(broken(listingQuery(), { offset: 0, limit: 50 }), { instanceOf: TypeError })
  t.is(calls, 1)
})
