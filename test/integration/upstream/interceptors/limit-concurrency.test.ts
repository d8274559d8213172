import test from 'ava'
import { type Dispatch, NOT_SENT, type UpstreamRequest } from '../../../../src/upstream/http/request.ts'
import { limitConcurrency } from '../../../../src/upstream/interceptors/limit-concurrency.ts'
import { listingTexts, type SeenRequest } from '../../../helpers/fake-registry.ts'
import { startFake } from '../../../helpers/gateway.ts'
import { openUpstream } from '../../../helpers/upstream.ts'

const QUEUED = 10_000

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
  for (let n = 0; n < 1 + QUEUED; n++)
    dispatch({ purpose: 'page', upstream: 'elsewhere' } as UpstreamRequest, {
      onResponseError: () => failures++,
    })
  endFirst()
  t.is(failures, QUEUED)
})

test('the first page of an upstream waits neither for its pull nor for many single listings', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 2000) })
  const asked = Promise.withResolvers<unknown>()
  fake.beforePage = (request) => {
    if (request === 2) asked.resolve(askOthers())
  }
  const { read, ready } = await openUpstream(t, {}, { fake, maxInFlight: 1, timeoutMs: 60_000 })
  const askOthers = () => Promise.all(Array.from({ length: 20 }, (_, n) => read({ listingId: `b-${n}` })))
  await asked.promise
  await ready
  const isSingle = ({ path }: SeenRequest): boolean => path !== '/listings'
  t.true(fake.requests.findLastIndex(isSingle) <= 2 + 3 * 20)
  t.is((await read()).total, 2000)
})
