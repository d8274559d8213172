import { parseTimestamp } from './timestamp.ts'

const UNITS: readonly (readonly [name: string, seconds: number])[] = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
]

/** `3h`, `2d`; `-` for an unreadable time; `0s` for one in the future. */
export function showAge(timestamp: string | null, nowMs = Date.now()): string {
  const at = timestamp === null ? null : parseTimestamp(timestamp)
  if (at === null) return '-'
  const seconds = Math.max(0, Math.floor(nowMs / 1000 - at / 1_000_000))
  const unit = UNITS.find(([, size]) => seconds >= size)
  return unit === undefined ? `${seconds}s` : `${Math.floor(seconds / unit[1])}${unit[0]}`
}
