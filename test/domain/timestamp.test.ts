import test from 'ava'
import fc from 'fast-check'
import { formatTimestamp, parseTimestamp } from '../../src/domain/timestamp.ts'

const YEAR_2200 = Date.UTC(2200, 0)
const instant = fc.tuple(fc.nat(YEAR_2200), fc.nat(999))

test('timestamp: formatting agrees with Date to the millisecond, in any order of times', (t) => {
  fc.assert(
    fc.property(fc.array(fc.tuple(instant, fc.nat(120_000))), (times) => {
      for (const [[millis, micros], later] of times) {
        for (const at of [millis, millis + later, millis]) {
          const text = new Date(at).toISOString().slice(0, 23) + String(micros).padStart(3, '0')
          t.is(formatTimestamp(at * 1000 + micros), text)
          t.is(parseTimestamp(text), at * 1000 + micros)
        }
      }
    }),
  )
})
