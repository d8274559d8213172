import test from 'ava'
import { raceAbort, raceAbortAfterTick, withDeadline } from '../../src/domain/clock.ts'

const never = new Promise<never>(() => {})

test('deadline: the signal aborts with the timeout error, or earlier with the reason of the caller', async (t) => {
  const late = new Error('late')
  const caller = new AbortController()
  const wait = (ms: number) =>
    withDeadline({ ms, timeoutError: () => late, caller: caller.signal }, (signal) =>
      raceAbort(never, signal),
    )
  t.is(await t.throwsAsync(wait(5)), late)
  const waiting = wait(2 ** 40)
  const gone = new Error('gone')
  caller.abort(gone)
  t.is(await t.throwsAsync(waiting), gone)
  t.is(await t.throwsAsync(wait(5)), gone)
})

test('deadline: work that ends in time settles the race', async (t) => {
  const { signal } = new AbortController()
  t.is(await raceAbort(Promise.resolve(7), signal), 7)
  await t.throwsAsync(raceAbort(Promise.reject(new Error('own')), signal), { message: 'own' })
})

test('deadline: work that settles one turn after the abort counts with raceAbortAfterTick', async (t) => {
  const stop = new AbortController()
  const work = Promise.withResolvers<number>()
  const race = raceAbortAfterTick(work.promise, stop.signal)
  stop.signal.addEventListener('abort', () => work.resolve(7))
  stop.abort(new Error('late'))
  t.is(await race, 7)
  await t.throwsAsync(raceAbortAfterTick(never, stop.signal), { message: 'late' })
})

test('deadline: work that fails after the abort is not an unhandled rejection', async (t) => {
  const work = Promise.withResolvers<never>()
  const gone = new Error('gone')
  t.is(await t.throwsAsync(raceAbort(work.promise, AbortSignal.abort(gone))), gone)
  work.reject(new Error('too late'))
  await t.throwsAsync(work.promise)
})
