import test from 'ava'
import { SourceError } from '../../../src/domain/source/source-error.ts'
import {
  fullPeriodMs,
  NEVER_PULLED,
  nextPullAt,
  nextStretch,
  PULL_AGAIN_SECONDS,
  type PullHistory,
  wholeDueAt,
} from '../../../src/upstream/snapshot/next-pull.ts'

const PERIODS = { refreshMs: 15_000, fullMs: 60_000 }
const AGAIN_MS = PULL_AGAIN_SECONDS * 1000

const failure = new SourceError('timeout', 'no answer')

/** Pulled whole from 0 to 1 s; a reader asked at 2 s. */
const HELD: PullHistory = {
  ...NEVER_PULLED,
  lookedAt: 0,
  whole: { startedAt: 0, endedAt: 1000 },
  readAt: 2000,
}

for (const [what, change, at, isWhole] of [
  ['the first page is asked for each period', {}, 15_000, false],
  ['the whole is pulled each full period', { lookedAt: 45_000 }, 60_000, true],
  ['a doubled full period is waited for', { lookedAt: 45_000, stretch: 2 }, 60_000, false],
  ['an unexplained first page makes a whole pull due', { lookedAt: 9000, isUnexplained: true }, 11_000, true],
  [
    'a pull of 8 s is followed by the next 80 s later',
    { lookedAt: 75_000, whole: { startedAt: 0, endedAt: 8000 }, isUnexplained: true },
    88_000,
    true,
  ],
  ['without readers no whole pull is due', { lookedAt: 600_000, readAt: null }, 615_000, false],
  ['nor without readers since the last one', { lookedAt: 45_000, readAt: -1 }, 60_000, false],
  [
    'the first question after an idle time makes one due',
    { lookedAt: 600_000, readAt: 601_000 },
    60_000,
    true,
  ],
  ['after a failure the pull is tried again', { lookedAt: 60_000, failure }, 60_000 + AGAIN_MS, true],
  [
    'a first pull that took 100 s and failed is tried again after a period',
    { lookedAt: 100_000, whole: { startedAt: 0, endedAt: 100_000 }, isHeld: false, failure },
    115_000,
    true,
  ],
] as const)
  test(`next pull: ${what}`, (t) => {
    const state = { isHeld: true, failure: null, ...change, history: { ...HELD, ...change } }
    t.is(nextPullAt(state, PERIODS), at)
    t.is(wholeDueAt(state, PERIODS) <= at, isWhole)
  })

test('next pull: the first one is whole, and at once', (t) => {
  const state = { history: NEVER_PULLED, isHeld: false, failure: null }
  t.is(nextPullAt(state, PERIODS), Number.NEGATIVE_INFINITY)
  t.is(wholeDueAt(state, PERIODS), Number.NEGATIVE_INFINITY)
})

test('next pull: the full period doubles up to five times its setting, and falls back', (t) => {
  t.deepEqual(
    [1, 2, 4, 5].map((stretch) => nextStretch(stretch, false)),
    [2, 4, 5, 5],
  )
  t.is(nextStretch(5, true), 1)
  t.is(fullPeriodMs({ ...HELD, stretch: 5 }, PERIODS), 300_000)
  t.is(fullPeriodMs({ ...HELD, whole: { startedAt: 0, endedAt: 8000 } }, PERIODS), 88_000)
})
