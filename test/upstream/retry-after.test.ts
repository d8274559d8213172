import test from 'ava'
import { MAX_RETRY_AFTER_MS, retryAfterMs } from '../../src/upstream/retry-after.ts'

const NOW = Date.UTC(2026, 10, 20, 12)

test('seconds and dates are both understood, and neither is believed beyond its bounds', (t) => {
  for (const [text, ms] of [
    ['0', 0],
    ['120', 120_000],
    [' 5 ', 5000],
    ['Fri, 20 Nov 2026 12:00:30 GMT', 30_000],
    ['Fri, 20 Nov 2026 11:00:00 GMT', 0],
    ['Sat, 20 Nov 2066 12:00:00 GMT', MAX_RETRY_AFTER_MS],
    ['9'.repeat(400), MAX_RETRY_AFTER_MS],
  ] as const)
    t.is(retryAfterMs(text, NOW), ms, text)
})

test('what says no time says nothing', (t) => {
  for (const text of [undefined, '', 'soon', '-1x', 'NaN']) t.is(retryAfterMs(text, NOW), null, text)
})
