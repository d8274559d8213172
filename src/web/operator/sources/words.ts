import type { FleetJson } from '../../../wire/fleet.ts'
import type { ToneName } from '../../common/tone.ts'

export type FleetSource = FleetJson['sources'][number]

export const BREAKER_WORDS: Readonly<Record<string, string>> = {
  closed: 'normal',
  open: 'paused',
  half_open: 'testing',
}

/** Sources that need attention first; otherwise in configuration order. */
export function byTrouble(sources: readonly FleetSource[]): FleetSource[] {
  return sources.toSorted((one, other) => troubleOf(other) - troubleOf(one))
}

function troubleOf({ state, breaker }: FleetSource): number {
  if (state === 'unavailable') return 4
  if (breaker !== undefined && (breaker.state !== 'closed' || breaker.suspended !== null)) return 3
  if (state === 'stale') return 2
  return breaker !== undefined && breaker.failures_in_a_row > 0 ? 1 : 0
}

/** `28 of 31 well · 3 down`. */
export function summaryOf(sources: readonly FleetSource[]): string {
  const count = (state: FleetSource['state']): number =>
    sources.filter((source) => source.state === state).length
  const parts = [
    [count('unavailable'), 'down'],
    [count('stale'), 'with a cached copy'],
    [count('not_yet_loaded'), 'not contacted yet'],
  ] as const
  const others = parts.filter(([number]) => number > 0).map(([number, words]) => `${number} ${words}`)
  return [`${count('loaded')} of ${sources.length} well`, ...others].join(' · ')
}

/** `normal`, `paused, retries in 12 s`, `testing`. */
export function describeCalls(breaker: NonNullable<FleetSource['breaker']>, now: number): string {
  const { state, retry_at, suspended } = breaker
  const retries = (instant: string): string =>
    `, retries in ${Math.max(0, Math.ceil((Date.parse(instant) - now) / 1000))} s`
  if (state === 'open') return `paused${retry_at === null ? '' : retries(retry_at)}`
  if (suspended !== null)
    return `paused (${suspended.reason === 'unauthorized' ? 'API key rejected' : 'asked to wait'})${retries(suspended.until)}`
  return BREAKER_WORDS[state] ?? state
}

export function toneOfCalls({
  state,
  failures_in_a_row,
  suspended,
}: NonNullable<FleetSource['breaker']>): ToneName {
  if (state === 'open' || suspended !== null) return 'bad'
  return state === 'half_open' || failures_in_a_row > 0 ? 'warn' : 'good'
}
