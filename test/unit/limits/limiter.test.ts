import test from 'ava'
import { createLimiter } from '../../../src/limits/limiter.ts'

const LIMITS = {
  anonymousPerMinute: 0,
  readKeyPerMinute: 3,
  publishPerMinute: 300,
  principalPerMinute: 0,
  trustedProxies: [],
}

test('limiter: a caller beyond its limit is refused, others are not', async (t) => {
  const limiter = createLimiter(LIMITS)
  const use = async (caller: string) => {
    const state = await limiter('read_key', caller)!
    t.true(state.resetSeconds >= 1 && state.resetSeconds <= 60)
    return [state.remaining, state.exceeded]
  }
  t.deepEqual(
    [await use('key:1'), await use('key:1'), await use('key:1'), await use('key:1')],
    [
      [2, false],
      [1, false],
      [0, false],
      [0, true],
    ],
  )
  t.deepEqual(await use('key:2'), [2, false])
})

test('limiter: after the clock is set back an hour, a caller waits for a minute at most', async (t) => {
  const limiter = createLimiter(LIMITS)
  await limiter('read_key', 'key:1')
  const { now } = Date
  Date.now = () => now() - 3_600_000
  const counted = limiter('read_key', 'key:1')
  Date.now = now // before any other test runs
  t.is((await counted)?.resetSeconds, 60)
})
