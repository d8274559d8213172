import test, { type ExecutionContext } from 'ava'
import type { SourceError } from '../../../../src/domain/source/source-error.ts'
import { type Dispatch, NOT_SENT, type UpstreamRequest } from '../../../../src/upstream/http/request.ts'
import { limitConcurrency, MAX_QUEUED } from '../../../../src/upstream/interceptors/limit-concurrency.ts'
import { type FakeRegistry, listingTexts, type SeenRequest } from '../../../helpers/fake-registry.ts'
import { openUpstream } from '../../../helpers/upstream.ts'

test('a request beyond the longest queue fails at once, and the queued ones are sent', (t) => {
  const inFlight: (() => void)[] = []
  const hold: Dispatch = (_request, handler) => {
    inFlight.push(() => handler.onResponseEnd?.(NOT_SENT, {}))
    return true
  }
  const dispatch = limitConcurrency(1)(hold)
  const outcomes: string[] = []
  const ask = () =>
    dispatch({ purpose: 'page', question: {}, upstream: 'elsewhere' } as UpstreamRequest, {
      onResponseEnd: () => void outcomes.push('answered'),
      onResponseError: (_controller, error) => void outcomes.push((error as SourceError).reason),
    })
  for (let n = 0; n < 1 + MAX_QUEUED; n++) ask()
  t.deepEqual([inFlight.length, outcomes], [1, []])
  ask()
  t.deepEqual(outcomes.splice(0), ['budget_spent'])
  for (let n = 0; n < 1 + MAX_QUEUED; n++) inFlight.shift()?.()
  t.deepEqual(outcomes.splice(0), Array(1 + MAX_QUEUED).fill('answered'))
  ask()
  inFlight.shift()?.()
  t.deepEqual(outcomes, ['answered'])
})

test('a queue of requests that fail as they are sent is ended', (t) => {
  let sent = 0
  let endFirst = (): void => {}
  const failing: Dispatch = (_request, handler) => {
    if (++sent === 1) endFirst = () => handler.onResponseEnd?.(NOT_SENT, {})
    else handler.onResponseError?.(NOT_SENT, new Error('closed'))
    return true
  }
  const dispatch = limitConcurrency(1)(failing)
  let failures = 0
  for (let n = 0; n < 1 + MAX_QUEUED; n++)
    dispatch({ purpose: 'page', question: {}, upstream: 'elsewhere' } as UpstreamRequest, {
      onResponseError: () => failures++,
    })
  endFirst()
  t.is(failures, MAX_QUEUED)
})

/** Readers who ask one upstream, one request at a time, `count` different questions for everything it has. */
async function startLongReads(t: ExecutionContext, count: number) {
  const held = Promise.withResolvers<void>()
  const { read, fake } = await openUpstream(
    t,
    { items: listingTexts('a', 2000), script: [{ kind: 'hold', until: held.promise }] },
    { scanLimit: 10_000, maxInFlight: 1, timeoutMs: 60_000 },
  )
  const longReads = Array.from({ length: count }, (_, n) =>
    read({ via: [`${n}`] }, { count: Number.POSITIVE_INFINITY }),
  )
  await fake.requested()
  held.resolve()
  return { read, fake, longReads }
}

function isLaterPage({ parameters }: SeenRequest): boolean {
  return parameters.get('status') === 'open' && parameters.get('offset') !== '0'
}

/** The questions whose later pages were requested, in that order. */
function askedFurther({ requests }: FakeRegistry): (string | undefined)[] {
  return requests.filter(isLaterPage).map(({ headers }) => headers['cdn-loop']?.toString())
}

test('the first page of a question waits neither for long reads nor for many single listings', async (t) => {
  const { read, fake, longReads } = await startLongReads(t, 6)
  const asked = Promise.withResolvers<unknown>()
  fake.beforePage = (request) => {
    if (request !== 20) return
    const single = Array.from({ length: 20 }, (_, n) => read({ listingId: `a-${n}` }))
    asked.resolve(Promise.all([...single, read({ status: 'closed' })]))
  }
  await asked.promise
  await Promise.all(longReads)
  const isFirst = ({ parameters }: SeenRequest): boolean => parameters.get('status') === 'closed'
  t.true(fake.requests.findIndex(isFirst) <= 20 + 3)
  const isSingle = ({ path }: SeenRequest): boolean => path !== '/listings'
  t.true(fake.requests.findLastIndex(isSingle) <= 20 + 3 * 20)
})

test('at most four long reads go on at a time, in turns, and each one ends', async (t) => {
  const { fake, longReads } = await startLongReads(t, 8)
  const readings = await Promise.all(longReads)
  t.deepEqual(new Set(readings.map(({ total }) => total)), new Set([2000]))
  const asked = askedFurther(fake)
  const firstFour = new Set(asked.slice(0, 8))
  t.is(firstFour.size, 4)
  const fifth = asked.findIndex((question) => !firstFour.has(question))
  t.true(firstFour.intersection(new Set(asked.slice(fifth))).size < 4)
})
