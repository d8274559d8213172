import type { SourceError } from '../../domain/source/source-error.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'

/** What is known of the pulls of one upstream. Times in ms since the Unix epoch. */
export type PullHistory = {
  /** End of the latest pull, with any outcome, or start of the one that runs. */
  lookedAt: number | null
  /** The latest whole pull, with any outcome. */
  whole: { startedAt: number; endedAt: number } | null
  /** Only a whole pull explains what the latest first page and counts show. */
  isUnexplained: boolean
  /** The full period in effect, in `fullMs`. */
  stretch: number
  /** The latest question of a reader. */
  readAt: number | null
}

/** What decides when the next pull begins. */
export type PullState = {
  history: PullHistory
  /** Whether a pull has ended well. */
  isHeld: boolean
  /** Of the latest pull. */
  failure: SourceError | null
}

export type Periods = { refreshMs: number; fullMs: number }

type FollowedState = { isFollowed: boolean; isPartlyFollowed: boolean }

/** What the stream of changes shows need not be looked for: then the whole is compared with it, and nothing else is pulled. */
export function periodsOf(
  upstream: Pick<UpstreamOptions, 'refreshSeconds' | 'fullRefreshSeconds' | 'followedRefreshSeconds'>,
  { isFollowed, isPartlyFollowed }: FollowedState,
  factor = 1,
): Periods {
  const { refreshSeconds, fullRefreshSeconds, followedRefreshSeconds } = upstream
  const isWhole = isFollowed && !isPartlyFollowed
  const [first, whole] = isWhole
    ? [followedRefreshSeconds, followedRefreshSeconds]
    : [refreshSeconds, fullRefreshSeconds]
  return { refreshMs: first * 1000 * factor, fullMs: whole * 1000 * factor }
}

export const NEVER_PULLED: Readonly<PullHistory> = {
  lookedAt: null,
  whole: null,
  isUnexplained: false,
  stretch: 1,
  readAt: null,
}

/** Whole pulls take at most a tenth of the time: they pause for so many times as long as the last one took. */
const PAUSE = 10
const MAX_STRETCH = 5
/** Longest wait after a failed pull. */
export const PULL_AGAIN_SECONDS = 15

/** When the next pull begins. It reads the whole where that is due by then (`wholeDueAt`). */
export function nextPullAt(state: PullState, periods: Periods): number {
  const { lookedAt } = state.history
  if (lookedAt === null) return Number.NEGATIVE_INFINITY
  if (state.failure !== null) return lookedAt + againMs(periods)
  const lookAt = lookedAt + periods.refreshMs
  return state.isHeld ? Math.min(lookAt, wholeDueAt(state, periods)) : lookAt
}

/** `Infinity` where no reader has asked since the latest whole pull. */
export function wholeDueAt({ history, isHeld }: Omit<PullState, 'failure'>, periods: Periods): number {
  const { whole, isUnexplained, readAt } = history
  if (whole === null) return Number.NEGATIVE_INFINITY
  // Until a first pull has ended well, listings are missing.
  if (!isHeld) return whole.endedAt + againMs(periods)
  const allowedAt = whole.endedAt + PAUSE * (whole.endedAt - whole.startedAt)
  if (readAt === null || readAt < whole.startedAt) return Number.POSITIVE_INFINITY
  return isUnexplained ? allowedAt : Math.max(allowedAt, whole.startedAt + fullPeriodMs(history, periods))
}

function againMs({ refreshMs }: Periods): number {
  return Math.min(refreshMs, PULL_AGAIN_SECONDS * 1000)
}

/** From the start of a whole pull to that of the next. */
export function fullPeriodMs({ whole, stretch }: PullHistory, { fullMs }: Periods): number {
  const tookMs = whole === null ? 0 : whole.endedAt - whole.startedAt
  return Math.max(fullMs * stretch, (1 + PAUSE) * tookMs)
}

/** Doubles while whole pulls find nothing that first page and counts had not explained. */
export function nextStretch(stretch: number, hasFoundMore: boolean): number {
  return hasFoundMore ? 1 : Math.min(MAX_STRETCH, stretch * 2)
}
