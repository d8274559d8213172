/** Microseconds since the Unix epoch, UTC. Exact in a double until the year 2255. */
export type Micros = number

export const nowMicros = (): Micros => Math.round((performance.timeOrigin + performance.now()) * 1000)

/** `2026-11-20T15:33:44.792803`: six fraction digits, no suffix, UTC, always (`protocol.md` 8). */
export const formatTimestamp = (at: Micros): string => {
  const millis = Math.floor(at / 1000)
  const rest = String(at - millis * 1000).padStart(3, '0')
  return new Date(millis).toISOString().slice(0, 23) + rest
}

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
