import test, { type ExecutionContext } from 'ava'
import type { SourceReason } from '../../../../src/domain/source/reasons.ts'
import { type Dispatch, NOT_SENT, type UpstreamRequest } from '../../../../src/upstream/http/request.ts'
import { composeRequests } from '../../../../src/upstream/interceptors/compose.ts'
import { MAX_SAVED_RETRIES, RETRY_SHARE, retry } from '../../../../src/upstream/interceptors/retry.ts'
import { createFetchPage } from '../../../../src/upstream/page/fetch-page.ts'
import { envelopeText } from '../../../helpers/fake-registry.ts'
import { type ScriptedAnswer, scriptAnswers } from '../../../helpers/scripted-answers.ts'
import { failureOf, upstreamOptions, upstreamQuery } from '../../../helpers/upstream.ts'

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
    monotonic: () => now,
    after: (_ms: number, act: () => void) => {
      setImmediate(act)
      return () => {}
    },
  }
  const options = { budgetMs: BUDGET_MS, clock, random: () => 0, onRetry: () => void retries++ }
  const fetchPage = createFetchPage(upstreamOptions({ url }), composeRequests(agent, [], [retry(options)]))
  const fetch = () => fetchPage(upstreamQuery(), { offset: 0, limit: 50 })
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
    ['http_503', [503, '', { 'retry-after': '1' }]],
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

test('a fault of this program is not retried', (t) => {
  const clock = { now: () => 0, monotonic: () => 0, after: () => () => {} }
  let sent = 0
  const bug = new TypeError('bug')
  const broken: Dispatch = (_request, handler) => {
    sent++
    handler.onResponseError?.(NOT_SENT, bug)
    return true
  }
  const errors: Error[] = []
  const intercept = retry({ budgetMs: BUDGET_MS, clock, random: () => 0, onRetry: () => {} })
  intercept(broken)({ purpose: 'page' } as UpstreamRequest, {
    onResponseError: (_controller, error) => void errors.push(error),
  })
  t.deepEqual([sent, errors], [1, [bug]])
})
