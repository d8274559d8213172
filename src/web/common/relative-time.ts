/** A minute of future is a difference of clocks. */
export const isFuture = (at: number, now: number): boolean => at > now + 60_000

export function timeAgo(at: number, now: number): string {
  if (isFuture(at, now)) return 'in the future'
  const seconds = Math.max(0, Math.floor((now - at) / 1000))
  const unit = UNITS.find(([, size]) => seconds >= size)
  return unit === undefined || seconds < JUST_NOW_SECONDS
    ? 'just now'
    : `${Math.floor(seconds / unit[1])} ${unit[0]} ago`
}

const UNITS: readonly (readonly [name: string, seconds: number])[] = [
  ['y', 31_557_600],
  ['mo', 2_629_800],
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
]

const JUST_NOW_SECONDS = 10
