/** Microseconds since the Unix epoch, UTC. Exact in a double until the year 2255. */
export type Micros = number

export const nowMicros = (): Micros => Math.round((performance.timeOrigin + performance.now()) * 1000)

/** `2026-11-20T15:33:44.792803`: six fraction digits, no suffix, UTC, always (`protocol.md` 8). */
export const formatTimestamp = (at: Micros): string => {
  const second = Math.floor(at / MICROS_PER_SECOND)
  const fraction = String(at - second * MICROS_PER_SECOND + MICROS_PER_SECOND).slice(1)
  const minute = Math.floor(second / 60)
  return `${formatMinute(minute)}:${TWO_DIGITS[second - minute * 60]!}.${fraction}`
}

/** Kept, because many times in a row are of the same minute, and a date takes ten times as long as all the rest. */
let lastMinute = Number.NaN
let lastText = ''

const formatMinute = (minute: number): string => {
  if (minute !== lastMinute) {
    lastText = new Date(minute * 60_000).toISOString().slice(0, -':00.000Z'.length)
    lastMinute = minute
  }
  return lastText
}

const MICROS_PER_SECOND = 1_000_000
const TWO_DIGITS = Array.from({ length: 60 }, (_, n) => String(n).padStart(2, '0'))

const ISO =
  /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s?(Z|z|[+-]\d{2}:?\d{2})?$/

/**
 * Reads an ISO 8601 timestamp; one without an offset is UTC, which JavaScript's own parser would take for local
 * time. Digits past the microsecond are cut. `null` when the text is not a time.
 */
export const parseTimestamp = (text: string): Micros | null => {
  const parts = ISO.exec(text)
  if (parts === null) return null
  const [, year, month, day, hour, minute, second = '0', fraction = '', zone = 'Z'] = parts
  const millis = Date.UTC(+year!, +month! - 1, +day!, +hour!, +minute!, +second)
  if (new Date(millis).getUTCDate() !== +day! || +hour! > 23 || +minute! > 59 || +second > 59) return null
  return millis * 1000 + Number(fraction.slice(0, 6).padEnd(6, '0')) - offsetMicros(zone)
}

const offsetMicros = (zone: string): Micros => {
  if (zone === 'Z' || zone === 'z') return 0
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2))
  return (zone.startsWith('-') ? -minutes : minutes) * 60_000_000
}
