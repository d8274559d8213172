import test, { type ExecutionContext } from 'ava'
import { CLOSED, MAX_OPEN_MS, type Notice, OPEN_MS } from '../../src/domain/breaker.ts'
import type { ListingQuery } from '../../src/domain/query.ts'
import { SourceError, type SourceReason } from '../../src/domain/source-error.ts'
import { LISTEN_MS, PROBE_MS } from '../../src/gateway/neighbours.ts'
import { Guard, UNAUTHORIZED_MS } from '../../src/gateway/with-breaker.ts'
import type { FetchListings } from '../../src/upstream/fetch-listings.ts'
import type { ListingPage } from '../../src/upstream/listing-page.ts'
import { type ManualClock, manualClock } from '../helpers/manual-clock.ts'
import { listingQuery } from './gateway-parts.ts'

const PAGE: ListingPage = { bytes: Buffer.from('{}'), items: [], received: 0, total: 0 }
const FILTERED = { filters: [['gpu_model', 'H100']] } as const

/** An upstream that is well, or fails as told, for readers and probes alike, and counts both. */
const start = (
  t: ExecutionContext,
  { clock = manualClock(), notice = null }: { clock?: ManualClock; notice?: Notice | null } = {},
) => {
  const upstream = {
    failure: null as SourceError | null,
    /** Only questions with filters meet the failure. */
    isFilteredOnly: false,
    asked: 0,
    probed: 0,
  }
  const answer = ({ filters }: ListingQuery): ListingPage => {
    if (upstream.failure === null || (upstream.isFilteredOnly && filters.length === 0)) return PAGE
    throw upstream.failure
  }
  const fetch: FetchListings = async (query) => {
    upstream.asked++
    return answer(query)
  }
  const probe: FetchListings = async (query) => {
    upstream.probed++
    return answer(query)
  }
  const logged: string[] = []
  const say =
    (level: string) =>
    (about: object, message: string): void =>
      void logged.push(`${level} ${Object.values(about).join(' ')}: ${message}`)
  const log = { info: say('info'), warn: say('warn') }
  const guard = new Guard({ name: 'elsewhere', fetch, probe, log, notice, clock, random: () => 0.5 })
  t.teardown(() => guard.close())
  const ask = async (query: Partial<ListingQuery> = {}): Promise<SourceReason | 'answered'> => {
    try {
      await guard.fetch(listingQuery(query), 0, new AbortController().signal)
      return 'answered'
    } catch (error) {
      if (error instanceof SourceError) return error.reason
      throw error
    }
  }
  const fail = (reason: SourceReason, extras: ConstructorParameters<typeof SourceError>[2] = {}): void => {
    upstream.failure = new SourceError(reason, 'scripted', extras)
  }
  const askOften = async (times: number, query: Partial<ListingQuery> = {}): Promise<void> => {
    for (let n = 0; n < times; n++) await ask(query)
  }
  /** Goes on, and lets what that set off in the background come to its end. */
  const wait = async (ms: number): Promise<void> => {
    clock.advance(ms)
    await settled()
    clock.advance(0)
    await settled()
  }
  return { guard, clock, upstream, ask, askOften, fail, wait, logged }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('after five failures in a row nobody waits: calls are rejected without being made', async (t) => {
  const { ask, askOften, fail, upstream, guard } = start(t)
  fail('timeout')
  await askOften(5)
  t.is(guard.breaker.state, 'open')
  t.is(await ask(), 'circuit_open')
  t.is(await ask(FILTERED), 'circuit_open')
  t.is(upstream.asked, 5)
})

test('recovery is found by two probes in the background, without any reader', async (t) => {
  const { ask, askOften, fail, upstream, guard, wait } = start(t)
  fail('connection_refused')
  await askOften(5)
  await wait(OPEN_MS - 1)
  t.is(upstream.probed, 0)
  upstream.failure = null
  await wait(1)
  t.is(upstream.probed, 2)
  t.is(guard.breaker.state, 'closed')
  t.is(await ask(), 'answered')
  t.is(upstream.asked, 6)
})

test('while it stays down there is one probe at the end of each wait, and no call of a reader', async (t) => {
  const { ask, askOften, fail, upstream, wait } = start(t)
  fail('http_503')
  await askOften(5)
  for (const ms of [OPEN_MS, 2 * OPEN_MS, 4 * OPEN_MS, 8 * OPEN_MS, MAX_OPEN_MS, MAX_OPEN_MS]) {
    const before = upstream.probed
    await wait(ms - 1)
    t.is(upstream.probed, before)
    await wait(1)
    t.is(upstream.probed, before + 1)
    t.is(await ask(), 'circuit_open')
  }
  t.is(upstream.asked, 5)
})

test('a relapse between the two probes opens it again', async (t) => {
  const clock = manualClock()
  let isWell = false
  const down: FetchListings = async () => {
    throw new SourceError('timeout', 'scripted')
  }
  let probed = 0
  const guard = new Guard({
    name: 'elsewhere',
    fetch: down,
    probe: (...given) => {
      isWell = ++probed === 1
      return isWell ? Promise.resolve(PAGE) : down(...given)
    },
    notice: null,
    clock,
    random: () => 0.5,
  })
  t.teardown(() => guard.close())
  const { signal } = new AbortController()
  for (let n = 0; n < 5; n++) await t.throwsAsync(guard.fetch(listingQuery(), 0, signal))
  clock.advance(OPEN_MS)
  await settled()
  t.is(guard.breaker.state, 'half_open')
  t.is(
    (await t.throwsAsync(guard.fetch(listingQuery(), 0, signal), { instanceOf: SourceError }))?.reason,
    'circuit_open',
  )
  clock.advance(0)
  await settled()
  t.like(guard.breaker, { state: 'open', retryAt: clock.now() + 2 * OPEN_MS })
})

for (const reason of [
  'http_400',
  'http_404',
  'http_412',
  'http_418',
  'unsupported_filter',
  'rate_limited',
  'loop',
] as const) {
  test(`${reason} is never counted`, async (t) => {
    const { ask, askOften, fail, upstream, guard } = start(t)
    fail(reason)
    await askOften(20)
    t.is(await ask(), reason)
    t.is(upstream.asked, 21)
    t.like(guard.breaker, { state: 'closed', failuresInARow: 0 })
  })
}

for (const reason of [
  'timeout',
  'connection_reset',
  'dns',
  'tls',
  'http_500',
  'http_502',
  'http_302',
  'not_json',
  'bad_envelope',
  'too_large',
] as const) {
  test(`${reason} is counted`, async (t) => {
    const { askOften, fail, guard } = start(t)
    fail(reason)
    await askOften(5)
    t.is(guard.breaker.state, 'open')
  })
}

test('a 500 to a question with filters is not counted, since one odd listing is enough for it', async (t) => {
  const { ask, askOften, fail, guard } = start(t)
  fail('http_500')
  await askOften(20, FILTERED)
  t.like(guard.breaker, { state: 'closed', failuresInARow: 0 })
  fail('http_503')
  await askOften(5, FILTERED)
  t.is(await ask(), 'circuit_open')
})

test('half of ten calls open it, however they are mixed', async (t) => {
  const { ask, fail, upstream, guard } = start(t)
  for (let n = 0; n < 10; n++) {
    if (n % 2 === 0) upstream.failure = null
    else fail('connection_reset')
    await ask()
  }
  t.is(guard.breaker.state, 'open')
})

for (const reason of ['rate_limited', 'http_503'] as const) {
  test(`${reason} with Retry-After: left alone for that long, and then asked again`, async (t) => {
    const { ask, fail, upstream, clock } = start(t)
    fail(reason, { retryAfterMs: 30_000 })
    t.is(await ask(), reason)
    upstream.failure = null
    clock.advance(29_999)
    t.is(await ask(), reason)
    t.is(upstream.asked, 1)
    clock.advance(1)
    t.is(await ask(), 'answered')
    t.is(upstream.asked, 2)
  })
}

test('a probe heeds Retry-After too', async (t) => {
  const { askOften, fail, upstream, wait, guard } = start(t)
  fail('http_500')
  await askOften(4)
  fail('http_503', { retryAfterMs: 300_000 })
  await askOften(1)
  t.is(guard.breaker.state, 'open')
  upstream.failure = null
  await wait(299_999)
  t.is(upstream.probed, 0)
  await wait(1)
  t.is(guard.breaker.state, 'closed')
})

test('a refused key: unauthorized at once, probed every minute, never counted', async (t) => {
  const { ask, fail, upstream, guard, wait } = start(t)
  fail('unauthorized')
  for (let n = 0; n < 20; n++) t.is(await ask(), 'unauthorized')
  t.is(upstream.asked, 1)
  t.like(guard.breaker, { state: 'closed', failuresInARow: 0 })
  await wait(UNAUTHORIZED_MS - 1)
  t.is(upstream.probed, 0)
  await wait(1)
  t.is(upstream.probed, 1)
  t.is(await ask(), 'unauthorized')
  upstream.failure = null
  await wait(UNAUTHORIZED_MS)
  t.is(upstream.probed, 2)
  t.is(await ask(), 'answered')
})

test('what refuses one question only, refuses nobody else', async (t) => {
  const { ask, fail, upstream } = start(t)
  upstream.isFilteredOnly = true
  fail('unauthorized')
  t.is(await ask(FILTERED), 'unauthorized')
  await settled()
  t.is(upstream.probed, 1)
  t.is(await ask(), 'answered')
  upstream.isFilteredOnly = false
  t.is(await ask(FILTERED), 'unauthorized')
  await settled()
  t.is(upstream.asked, 3)
  t.is(await ask(), 'unauthorized')
  t.is(upstream.asked, 3)
})

test('a key that is refused while it is failing: both are found out', async (t) => {
  const { ask, askOften, fail, upstream, wait, guard } = start(t)
  fail('timeout')
  await askOften(5)
  fail('unauthorized')
  await wait(OPEN_MS)
  t.is(guard.breaker.state, 'half_open')
  t.is(await ask(), 'circuit_open')
  upstream.failure = null
  await wait(UNAUTHORIZED_MS)
  t.is(guard.breaker.state, 'closed')
  t.is(await ask(), 'answered')
})

test('closed, it leaves nothing to be done', async (t) => {
  const { askOften, fail, upstream, guard, clock, wait } = start(t)
  fail('timeout')
  await askOften(5)
  t.is(clock.pending(), 1)
  guard.close()
  t.is(clock.pending(), 0)
  await wait(MAX_OPEN_MS)
  t.is(upstream.probed, 0)
  t.not(guard.breaker.state, CLOSED.state)
})

/** What replicas tell each other, at once and without a Redis. */
const sharedNotice = (): Notice & { until: number | null } => {
  const notice = {
    until: null as number | null,
    read: async () => notice.until,
    write: async (until: number | null) => {
      notice.until = until
    },
  }
  return notice
}

test('what one replica has found out another hears within a second, and asks nobody', async (t) => {
  const notice = sharedNotice()
  const one = start(t, { notice })
  const other = start(t, { notice, clock: one.clock })
  t.is(await other.ask(), 'answered')
  one.fail('timeout')
  await one.askOften(5)
  one.clock.advance(LISTEN_MS)
  // The question that comes first is not held up.
  t.is(await other.ask(), 'answered')
  await settled()
  t.is(await other.ask(), 'circuit_open')
  t.like(other.guard.breaker, { state: 'open', failuresInARow: 0 })
  t.is(other.upstream.asked, 2)
  t.is(other.upstream.probed, 0)
})

test('when its probes have passed the others ask again, and when it is gone too', async (t) => {
  for (const recovers of [true, false]) {
    const notice = sharedNotice()
    const one = start(t, { notice })
    const other = start(t, { notice, clock: one.clock })
    one.fail('timeout')
    await one.askOften(5)
    await other.ask()
    await settled()
    t.is(await other.ask(), 'circuit_open')
    if (recovers) one.upstream.failure = null
    else one.guard.close()
    await one.wait(OPEN_MS)
    t.is(notice.until === null, recovers)
    await other.wait(recovers ? LISTEN_MS : PROBE_MS)
    await other.ask()
    await settled()
    t.is(await other.ask(), 'answered')
  }
})

test('a notice that cannot be had tells nothing', async (t) => {
  const away = async () => {
    throw new Error('away')
  }
  const { ask, askOften, fail } = start(t, { notice: { read: away, write: away } })
  t.is(await ask(), 'answered')
  fail('timeout')
  await askOften(5)
  t.is(await ask(), 'circuit_open')
})

test('each change of its state is logged once, with its name', async (t) => {
  const { askOften, fail, upstream, wait, logged } = start(t)
  fail('timeout')
  await askOften(20)
  await wait(OPEN_MS)
  t.deepEqual(logged, ['warn elsewhere timeout: it has failed too often and is left alone'])
  upstream.failure = null
  await wait(2 * OPEN_MS)
  t.deepEqual(logged.splice(0).slice(1), ['info elsewhere: it answers and is asked again'])

  fail('unauthorized')
  await askOften(3)
  await wait(UNAUTHORIZED_MS)
  await wait(UNAUTHORIZED_MS)
  t.deepEqual(logged, ['warn elsewhere: it refuses our key'])
  upstream.failure = null
  await wait(UNAUTHORIZED_MS)
  t.deepEqual(logged.slice(1), ['info elsewhere: it takes our key again'])
})
