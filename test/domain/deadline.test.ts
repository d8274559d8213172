import test from 'ava'
import { raceAbort, withDeadline } from '../../src/domain/deadline.ts'

const never = new Promise<never>(() => {})

test('the signal aborts with the reason given when the time is over, and with the caller’s when he aborts', async (t) => {
  const late = new Error('late')
  const caller = new AbortController()
  const wait = (ms: number) =>
    withDeadline({ ms, late: () => late, caller: caller.signal }, (signal) => raceAbort(never, signal))
  t.is(await t.throwsAsync(wait(5)), late)
  const waiting = wait(2 ** 40)
  const gone = new Error('gone')
  caller.abort(gone)
  t.is(await t.throwsAsync(waiting), gone)
  t.is(await t.throwsAsync(wait(5)), gone)
})

test('work that is done in time is what comes out, and a failure of its own too', async (t) => {
  const { signal } = new AbortController()
  t.is(await raceAbort(Promise.resolve(7), signal), 7)
  await t.throwsAsync(raceAbort(Promise.reject(new Error('own')), signal), { message: 'own' })
})

test('work that fails after it was given up disturbs nobody', async (t) => {
  const work = Promise.withResolvers<never>()
  const gone = new Error('gone')
  t.is(await t.throwsAsync(raceAbort(work.promise, AbortSignal.abort(gone))), gone)
  work.reject(new Error('too late'))
  await t.throwsAsync(work.promise)
})
