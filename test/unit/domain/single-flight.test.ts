import { setImmediate } from 'node:timers/promises'
import test from 'ava'
import { SingleFlight } from '../../../src/domain/single-flight.ts'

type Run = { name: string; end: PromiseWithResolvers<string> }

function scripted() {
  const runs: Run[] = []
  const flight = new SingleFlight((name: string) => {
    const end = Promise.withResolvers<string>()
    runs.push({ name, end })
    return end.promise
  })
  return { flight, runs }
}

test('single flight: concurrent callers share one run and its outcome, and the next caller starts another', async (t) => {
  const { flight, runs } = scripted()
  const callers = [flight.join('first'), flight.join('second')]
  runs[0]!.end.reject(new Error('away'))
  for (const caller of callers) await t.throwsAsync(caller, { message: 'away' })
  t.is(flight.current, null)
  void flight.join('third')
  t.deepEqual(
    runs.map(({ name }) => name),
    ['first', 'third'],
  )
})

for (const outcome of ['success', 'failure'] as const)
  test(`single flight: callers of joinNext share the run after the current one: ${outcome}`, async (t) => {
    const { flight, runs } = scripted()
    const first = flight.joinNext('first')
    const next = [flight.joinNext('second'), flight.joinNext('third')]
    t.is(runs.length, 1)
    if (outcome === 'success') runs[0]!.end.resolve('one')
    else runs[0]!.end.reject(new Error('away'))
    await first.catch(() => {})
    await setImmediate()
    t.is(runs.length, 2)
    runs[1]!.end.resolve('two')
    t.deepEqual(await Promise.all(next), ['two', 'two'])
    t.deepEqual(
      runs.map(({ name }) => name),
      ['first', 'second'],
    )
  })
