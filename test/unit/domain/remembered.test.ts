import test from 'ava'
import { remembered } from '../../../src/domain/remembered.ts'

test('remembered: beyond 10,000 the oldest is read again, and no other', (t) => {
  const readings = new Map<string, number>()
  const reads: number[] = []
  const ask = (n: number) => remembered(readings, String(n), () => reads.push(n))
  for (let n = 0; n <= 10_000; n++) ask(n)
  const before = reads.length
  for (let n = 1; n <= 10_000; n++) ask(n)
  t.is(reads.length, before)
  ask(0)
  t.is(reads.at(-1), 0)
})
