import test from 'ava'
import {
  fullPeriodMs,
  NEVER_PULLED,
  nextPull,
  nextStretch,
  PULL_AGAIN_SECONDS,
  type PullHistory,
} from '../../../src/upstream/snapshot/next-pull.ts'

const PERIODS = { refreshMs: 15_000, fullMs: 60_000 }
const WHOLE = { startedAt: 0, endedAt: 1000 }

/** Pulled whole from 0 to 1 s; a reader asked at 2 s. */
const HELD: PullHistory = { ...NEVER_PULLED, lookedAt: 0, whole: WHOLE, isHeld: true, readAt: 2000 }
const SLOW = { whole: { startedAt: 0, endedAt: 8000 } }
const AGAIN = 60_000 + PULL_AGAIN_SECONDS * 1000

const CASES: Readonly<Record<string, [change: Partial<PullHistory>, at: number, isWhole: boolean]>> = {
  'the first page is asked for each period': [{}, 15_000, false],
  'the whole is pulled each full period': [{ lookedAt: 45_000 }, 60_000, true],
  'a doubled full period is waited for': [{ lookedAt: 45_000, stretch: 2 }, 60_000, false],
  'an unexplained first page makes a pull due': [{ lookedAt: 9000, isUnexplained: true }, 11_000, true],
  'a slow pull is waited for ten times': [{ ...SLOW, lookedAt: 75_000, isUnexplained: true }, 88_000, true],
  'without readers no whole pull is due': [{ lookedAt: 600_000, readAt: null }, 615_000, false],
  'nor without readers since the last one': [{ lookedAt: 45_000, readAt: -1 }, 60_000, false],
  'a question after an idle time makes it due': [{ lookedAt: 600_000, readAt: 601_000 }, 60_000, true],
  'after a failure the pull is tried again': [{ lookedAt: 60_000, hasFailed: true }, AGAIN, true],
  'what is too large is looked at': [{ lookedAt: 100_000, isHeld: false }, 115_000, true],
}

test('next pull: the first is whole and at once, and the others are when they are due', (t) => {
  t.deepEqual(nextPull(NEVER_PULLED, PERIODS), { at: Number.NEGATIVE_INFINITY, isWhole: true })
  for (const [what, [change, at, isWhole]] of Object.entries(CASES))
    t.deepEqual(nextPull({ ...HELD, ...change }, PERIODS), { at, isWhole }, what)
})

test('next pull: the full period doubles up to five times its setting, and falls back', (t) => {
  const stretches = [1, 2, 4, 5].map((stretch) => nextStretch(stretch, false))
  t.deepEqual(stretches, [2, 4, 5, 5])
  t.is(nextStretch(5, true), 1)
  t.is(fullPeriodMs({ ...HELD, stretch: 5 }, PERIODS), 300_000)
  t.is(fullPeriodMs({ ...HELD, ...SLOW }, PERIODS), 88_000)
})
