import test from 'ava'
import { remembered } from '../../../src/domain/remembered.ts'

test('remembered: beyond 10,000 all are read again', (t) => {
  const readings = new Map<string, number>()
  const reads: number[] = []
  const ask = (n: number) => remembered(readings, String(n), () => reads.push(n))
  for (let n = 0; n < 10_000; n++) ask(n)
  ask(0)
  t.is(reads.length, 10_000)
  ask(10_000)
  ask(0)
  t.deepEqual(reads.slice(10_000), [10_000, 0])
  t.is(readings.size, 2)
})
