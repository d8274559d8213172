import test, { type ExecutionContext } from 'ava'
import { MAX_OPEN_MS, OPEN_MS } from '../../../../src/domain/source/breaker.ts'
import type { SourceReason } from '../../../../src/domain/source/reasons.ts'
import { SourceError } from '../../../../src/domain/source/source-error.ts'
import type { PageRequest } from '../../../../src/domain/walk/walk.ts'
import {
  type Dispatch,
  NOT_SENT,
  type Purpose,
  type UpstreamRequest,
} from '../../../../src/upstream/http/request.ts'
import {
  CircuitBreaker,
  type SharedBreakerState,
  UNAUTHORIZED_MS,
} from '../../../../src/upstream/interceptors/circuit-breaker.ts'
import { type FetchPage, purposeOf } from '../../../../src/upstream/page/fetch-page.ts'
import { conditionsOf, ListingPage } from '../../../../src/upstream/page/listing-page.ts'
import type { UpstreamQuery } from '../../../../src/upstream/push-down.ts'
import { envelopeText } from '../../../helpers/fake-registry.ts'
import { type ManualClock, manualClock } from '../../../helpers/manual-clock.ts'
import { upstreamQuery } from '../../../helpers/upstream.ts'

const PAGE = new ListingPage(Buffer.from(envelopeText([], 0)), {
  kind: 'registry',
  conditions: conditionsOf(upstreamQuery()),
  offset: 0,
})

/** Questions that a reader may choose. */
const CHOSEN: readonly (readonly [
  what: string,
  query: Partial<UpstreamQuery>,
  request?: Partial<PageRequest>,
])[] = [
  ['an id', { listingId: '\u0000' }],
  ['a filter', { pushed: [['gpu_model', 'H100']] }],
  ['a status', { status: 'closed' }],
  ['a publisher', { publisher: '0xabc' }],
  ['an offset', {}, { offset: 50 }],
]

type Options = { clock?: ManualClock; shared?: SharedBreakerState | null }

/** An upstream that answers, or fails as scripted, to calls and probes alike. */
function start(t: ExecutionContext, { clock = manualClock(), shared = null }: Options = {}) {
  const upstream = {
    failure: null as SourceError | null,
    /** Whether only questions that a reader has chosen fail. */
    isChosenOnly: false,
    /** Whether a single listing is answered. */
    isOneAnswered: false,
    called: 0,
    probed: 0,
  }
  const failureOf = (query: UpstreamQuery, request: PageRequest): SourceError | null =>
    (upstream.isChosenOnly && purposeOf(query, request) === 'page') ||
    (upstream.isOneAnswered && request.offset > 0 && request.limit === 1)
      ? null
      : upstream.failure
  const probe: FetchPage = async (query, request) => {
    upstream.probed++
    const failure = failureOf(query, request)
    if (failure !== null) throw failure
    return PAGE
  }
  const logged: string[] = []
  const line = (level: string) => (about: object, message: string) =>
    void logged.push([level, ...Object.values(about), message].join(' '))
  const log = { info: line('info'), warn: line('warn') }
  const breaker = new CircuitBreaker({
    upstream: { name: 'elsewhere', key: null },
    probe,
    log,
    shared,
    clock,
    random: () => 0.5,
  })
  t.teardown(() => breaker.close())
  const call = (query: Partial<UpstreamQuery> = {}, request: Partial<PageRequest> = {}) => {
    const [asked, page] = [upstreamQuery(query), { offset: 0, limit: 51, ...request }]
    return outcomeOf(breaker, purposeOf(asked, page), () => {
      upstream.called++
      return failureOf(asked, page)
    })
  }
  /** Advances the clock, and lets probes that are due end. */
  const wait = async (ms: number): Promise<void> => {
    clock.advance(ms)
    await settled()
    clock.advance(0)
    await settled()
  }
  return {
    breaker,
    clock,
    upstream,
    logged,
    call,
    wait,
    isAnsweredAfter: async (ms: number) => {
      upstream.failure = null
      await wait(ms)
      return (await call()) === 'answered'
    },
    callOften: async (times: number, ...asked: Parameters<typeof call>) => {
      for (let n = 0; n < times; n++) await call(...asked)
    },
    fail: (reason: SourceReason, extras: ConstructorParameters<typeof SourceError>[2] = {}) => {
      upstream.failure = new SourceError(reason, 'scripted', extras)
    },
  }
}

/** Of a request through the breaker, to an upstream that answers with `failure`. */
function outcomeOf(
  breaker: CircuitBreaker,
  purpose: Purpose,
  failure: () => SourceError | null,
): Promise<string> {
  const dispatch: Dispatch = (_request, handler) => {
    const error = failure()
    if (error === null) handler.onResponseEnd?.(NOT_SENT, {})
    else handler.onResponseError?.(NOT_SENT, error)
    return true
  }
  return new Promise((resolve) => {
    breaker.intercept(dispatch)({ purpose } as UpstreamRequest, {
      onResponseEnd: () => resolve('answered'),
      onResponseError: (_controller, error) => {
        const { reason, isPaused } = error as SourceError
        resolve(isPaused ? `paused after ${reason}` : reason)
      },
    })
  })
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

for (const [reason, times] of [
  ['rate_limited', 1],
  ['timeout', 5],
] as const)
  test(`after ${reason} calls go on in time though the clock was set back`, async (t) => {
    const clock = manualClock()
    const { callOften, fail, isAnsweredAfter } = start(t, { clock })
    fail(reason, reason === 'timeout' ? {} : { retryAfterMs: OPEN_MS })
    await callOften(times)
    clock.set(-3_600_000)
    t.true(await isAnsweredAfter(OPEN_MS))
  })

for (const [what, query, request] of CHOSEN) {
  test(`a question for ${what} that alone fails opens nothing, and costs one probe at a time`, async (t) => {
    const { call, fail, upstream, breaker } = start(t)
    upstream.isChosenOnly = true
    for (const [reason, extras] of [
      ['http_500', {}],
      ['http_503', { retryAfterMs: 60_000 }],
      ['rate_limited', { retryAfterMs: 60_000 }],
      ['unauthorized', {}],
      ['bad_envelope', {}],
      ['timeout', {}],
    ] as const) {
      fail(reason, extras)
      const before = upstream.probed
      const results = await Promise.all(Array.from({ length: 20 }, () => call(query, request)))
      t.true(results.every((result) => result === reason))
      t.is(upstream.probed, before + 1)
      await settled()
      t.is(await call(), 'answered', reason)
    }
    t.like(breaker.state, { state: 'closed', failuresInARow: 0 })
  })
}

test('a failing reader-chosen query triggers probes, whose results count', async (t) => {
  const { call, fail, upstream, breaker } = start(t)
  fail('timeout')
  for (let n = 0; n < 5; n++) {
    await call({ listingId: 'x' })
    await settled()
  }
  t.is(breaker.state.state, 'open')
  t.is(upstream.probed, 5)
})

test('a refusal of one question never counts, whatever else fails five times does', async (t) => {
  const refusals = [
    'http_400',
    'http_404',
    'http_412',
    'unsupported_filter',
    'loop',
    'private_address',
  ] as const
  const failures = [
    ...(['timeout', 'connection_reset', 'dns', 'tls'] as const),
    ...(['http_502', 'http_302', 'not_json', 'bad_envelope'] as const),
  ]
  for (const [reasons, state] of [
    [refusals, 'closed'],
    [failures, 'open'],
  ] as const)
    for (const reason of reasons) {
      const { callOften, fail, upstream, breaker } = start(t)
      fail(reason)
      await callOften(5)
      t.is(upstream.called, 5, reason)
      t.is(breaker.state.state, state, reason)
    }
})

for (const reason of ['http_500', 'too_large'] as const)
  test(`${reason}, of which one listing may be the cause, counts unless a single listing is answered`, async (t) => {
    for (const isOneAnswered of [false, true]) {
      const { call, fail, breaker, upstream } = start(t)
      upstream.isOneAnswered = isOneAnswered
      fail(reason)
      for (let n = 0; n < 5; n++) {
        t.is(await call(), reason)
        await settled()
      }
      t.is(breaker.state.state, isOneAnswered ? 'closed' : 'open')
      if (!isOneAnswered) t.is(upstream.probed, 15)
    }
  })

test('a filter spec, a list of publishers or a command that fails opens nothing', async (t) => {
  const { breaker, call, upstream, fail } = start(t)
  fail('timeout')
  upstream.isChosenOnly = true
  for (const [purpose, probes] of [
    ['detail', 0],
    ['command', 1],
  ] as const) {
    const before = upstream.probed
    await Promise.all(Array.from({ length: 20 }, () => outcomeOf(breaker, purpose, () => upstream.failure)))
    await settled()
    t.is(upstream.probed, before + probes, purpose)
    t.is(await call(), 'answered')
  }
})

test('an open breaker stops every request but its probes', async (t) => {
  const { breaker, callOften, fail } = start(t)
  fail('timeout')
  await callOften(5)
  for (const purpose of ['page', 'chosen_page', 'listing', 'detail', 'command'] as const)
    t.is(await outcomeOf(breaker, purpose, () => null), 'paused after timeout', purpose)
  t.is(await outcomeOf(breaker, 'probe', () => null), 'answered')
})

test('while the upstream stays down, each wait ends with one probe, and calls are rejected; two find the recovery', async (t) => {
  const { call, callOften, fail, upstream, breaker, wait } = start(t)
  fail('http_503')
  await callOften(5)
  for (const ms of [OPEN_MS, 2 * OPEN_MS, 4 * OPEN_MS, 8 * OPEN_MS, MAX_OPEN_MS, MAX_OPEN_MS]) {
    const before = upstream.probed
    await wait(ms - 1)
    t.is(upstream.probed, before)
    await wait(1)
    t.is(upstream.probed, before + 1)
    t.is(await call(), 'paused after http_503')
  }
  const before = upstream.probed
  upstream.failure = null
  await wait(MAX_OPEN_MS)
  t.is(upstream.probed, before + 2)
  t.is(breaker.state.state, 'closed')
  t.is(upstream.called, 5)
  t.is(await call(), 'answered')
})

for (const reason of ['rate_limited', 'http_503'] as const)
  test(`${reason} of a first page with Retry-After: no call until then`, async (t) => {
    const { call, fail, upstream, clock } = start(t)
    fail(reason, { retryAfterMs: 30_000 })
    t.is(await call(), reason)
    upstream.failure = null
    clock.advance(29_999)
    t.is(await call(), reason)
    t.is(upstream.called, 1)
    clock.advance(1)
    t.is(await call(), 'answered')
  })

test('429 of a first page without a time: a second without a call, doubled each time until an answer', async (t) => {
  const { call, fail, upstream, clock, breaker } = start(t)
  fail('rate_limited')
  for (const ms of [1000, 2000, 4000]) {
    const before = upstream.called
    t.is(await call(), 'rate_limited')
    clock.advance(ms - 1)
    for (let n = 0; n < 25; n++) t.is(await call(), 'rate_limited')
    t.is(upstream.called, before + 1)
    clock.advance(1)
  }
  t.like(breaker.state, { state: 'closed', failuresInARow: 0 })
  upstream.failure = null
  t.is(await call(), 'answered')
  fail('rate_limited')
  t.is(await call(), 'rate_limited')
  clock.advance(1000)
  upstream.failure = null
  t.is(await call(), 'answered')
})

test('a probe waits for Retry-After, too', async (t) => {
  const { callOften, fail, upstream, wait, breaker } = start(t)
  fail('http_502')
  await callOften(4)
  fail('http_503', { retryAfterMs: 300_000 })
  await callOften(1)
  t.is(breaker.state.state, 'open')
  upstream.failure = null
  await wait(299_999)
  t.is(upstream.probed, 0)
  await wait(1)
  t.is(breaker.state.state, 'closed')
})

test('a rejected key: unauthorized at once, probed every minute, never counted', async (t) => {
  const { call, fail, upstream, breaker, wait, isAnsweredAfter } = start(t)
  fail('unauthorized')
  for (let n = 0; n < 20; n++) t.is(await call(), 'unauthorized')
  t.is(upstream.called, 1)
  t.like(breaker.state, { state: 'closed', failuresInARow: 0 })
  await wait(UNAUTHORIZED_MS - 1)
  t.is(upstream.probed, 0)
  await wait(1)
  t.is(upstream.probed, 1)
  t.is(await call(), 'unauthorized')
  t.true(await isAnsweredAfter(UNAUTHORIZED_MS))
})

test('a key rejected while the breaker is open: both states recover', async (t) => {
  const { call, callOften, fail, isAnsweredAfter, wait, breaker } = start(t)
  fail('timeout')
  await callOften(5)
  fail('unauthorized')
  await wait(OPEN_MS)
  t.is(breaker.state.state, 'closed')
  t.is(await call(), 'unauthorized')
  t.true(await isAnsweredAfter(UNAUTHORIZED_MS))
})

test('a closed-down breaker leaves no timer', async (t) => {
  const { callOften, fail, upstream, breaker, clock, wait } = start(t)
  fail('timeout')
  await callOften(5)
  t.is(clock.pending(), 1)
  breaker.close()
  t.is(clock.pending(), 0)
  await wait(MAX_OPEN_MS)
  t.is(upstream.probed, 0)
})

/** Two replicas with one upstream, which either may fail to reach. */
async function startTwo(t: ExecutionContext) {
  const clock = manualClock()
  let open = 0
  const shared: SharedBreakerState = {
    read: async () => (open > clock.now() ? open : null),
    write: async (until) => {
      open = until
    },
  }
  const [one, other] = [start(t, { shared, clock }), start(t, { shared, clock })]
  one.fail('timeout')
  await one.callOften(5)
  t.is(one.breaker.state.state, 'open')
  return { one, other }
}

test('a replica goes on answering while the breaker of another one is open, for a probe each time', async (t) => {
  const { one, other } = await startTwo(t)
  for (const [ms, probes] of [
    [0, 1],
    [1000, 1],
    [OPEN_MS - 1000, 2],
    [2 * OPEN_MS, 3],
  ] as const) {
    await one.wait(ms)
    for (let n = 0; n < 3; n++) {
      t.is(await other.call(), 'answered')
      await settled()
    }
    t.is(other.upstream.probed, probes)
  }
  t.like(other.breaker.state, { state: 'closed', failuresInARow: 0 })
  t.is(await one.call(), 'paused after timeout')
})

test('an open breaker of another replica and one failed probe open the breaker', async (t) => {
  const { other } = await startTwo(t)
  other.fail('timeout')
  t.is(await other.call({ listingId: 'x' }), 'timeout')
  await settled()
  t.is(other.upstream.probed, 1)
  t.is(await other.call(), 'paused after timeout')
  t.deepEqual(other.logged, ['warn elsewhere timeout scripted circuit breaker opened'])
  t.true(await other.isAnsweredAfter(OPEN_MS))
})

test('without Redis a replica has its own breaker', async (t) => {
  const away = async () => {
    throw new Error('away')
  }
  const { call, callOften, fail } = start(t, { shared: { read: away, write: away } })
  t.is(await call(), 'answered')
  fail('timeout')
  await callOften(5)
  t.is(await call(), 'paused after timeout')
})

test('each change of state is logged once, with the upstream and the reason', async (t) => {
  const { callOften, fail, upstream, wait, logged } = start(t)
  fail('timeout')
  await callOften(20)
  await wait(OPEN_MS)
  t.deepEqual(logged.splice(0), ['warn elsewhere timeout scripted circuit breaker opened'])
  upstream.failure = null
  await wait(2 * OPEN_MS)
  t.deepEqual(logged.splice(0), ['info elsewhere circuit breaker closed'])
  fail('unauthorized')
  await callOften(3)
  await wait(UNAUTHORIZED_MS)
  await wait(UNAUTHORIZED_MS)
  t.deepEqual(logged.splice(0), ['warn elsewhere unauthorized scripted upstream rejected API key'])
  upstream.failure = null
  await wait(UNAUTHORIZED_MS)
  t.deepEqual(logged, ['info elsewhere upstream accepted API key'])
})
