/** Microseconds since the Unix epoch, UTC. Exact in a double until the year 2255. */
export type Micros = number

/** Wall clock, to the millisecond. It may go back. */
export const nowMicros = (): Micros => Date.now() * 1000

/** `2026-11-20T15:33:44.792803`: six fraction digits, no suffix, UTC. */
export function formatTimestamp(at: Micros): string {
  const second = Math.floor(at / MICROS_PER_SECOND)
  const fraction = String(at - second * MICROS_PER_SECOND + MICROS_PER_SECOND).slice(1)
  const minute = Math.floor(second / 60)
  return `${formatMinute(minute)}:${TWO_DIGITS[second - minute * 60]!}.${fraction}`
}

/** Cached: neighbouring times share a minute, and a `Date` takes ten times as long as the rest. */
let lastMinute = Number.NaN
let lastText = ''

function formatMinute(minute: number): string {
  if (minute !== lastMinute) {
    lastText = new Date(minute * 60_000).toISOString().slice(0, -':00.000Z'.length)
    lastMinute = minute
  }
  return lastText
}

const MICROS_PER_SECOND = 1_000_000
const TWO_DIGITS = Array.from({ length: 60 }, (_, n) => String(n).padStart(2, '0'))

/** The last microsecond of a millisecond since the Unix epoch. */
export const endOfMs = (ms: number): Micros => ms * 1000 + 999

const ISO =
  /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s?(Z|z|[+-]\d{2}:?\d{2})?$/

/** UTC without an offset (JavaScript's parser would take local time). Cuts digits past the microsecond. */
export function parseTimestamp(text: string): Micros | null {
  const plain = parsePlain(text)
  if (!Number.isNaN(plain)) return plain
  const parts = ISO.exec(text)
  if (parts === null) return null
  const [, year, month, day, hour, minute, second = '0', fraction = '', zone = 'Z'] = parts
  const millis = startOfDay(+year!, +month!, +day!) + ((+hour! * 60 + +minute!) * 60 + +second) * 1000
  if (new Date(millis).getUTCDate() !== +day! || +hour! > 23 || +minute! > 59 || +second > 59) return null
  return millis * 1000 + Number(fraction.slice(0, 6).padEnd(6, '0')) - offsetMicros(zone)
}

const PLAIN_LENGTH = '2026-11-20T15:33:44.792803'.length
/** Later days need a calendar. */
const SURE_DAYS = 28

/** Our own format, in a tenth of the time; NaN for other text. */
function parsePlain(text: string): Micros {
  if (text.length !== PLAIN_LENGTH || text[4] !== '-' || text[7] !== '-' || text[10] !== 'T')
    return Number.NaN
  if (text[13] !== ':' || text[16] !== ':' || text[19] !== '.') return Number.NaN
  const month = digitsAt(text, 5, 2)
  const day = digitsAt(text, 8, 2)
  const hour = digitsAt(text, 11, 2)
  const minute = digitsAt(text, 14, 2)
  const second = digitsAt(text, 17, 2)
  const isSure = month >= 1 && month <= 12 && day >= 1 && day <= SURE_DAYS
  if (!isSure || !(hour <= 23 && minute <= 59 && second <= 59)) return Number.NaN
  const start = startOfDay(digitsAt(text, 0, 4), month, day)
  return (start + (hour * 3600 + minute * 60 + second) * 1000) * 1000 + digitsAt(text, 20, 6)
}

/** In ms, UTC. `Date.UTC` takes a year below 100 for one of the 20th century; the calendar repeats after 400 years. */
function startOfDay(year: number, month: number, day: number): number {
  return Date.UTC(year + 400, month - 1, day) - MS_OF_400_YEARS
}

const MS_OF_400_YEARS = 146_097 * 86_400_000

function digitsAt(text: string, at: number, count: number): number {
  let value = 0
  for (let position = at; position < at + count; position++) {
    const digit = text.charCodeAt(position) - ZERO
    if (digit < 0 || digit > 9) return Number.NaN
    value = value * 10 + digit
  }
  return value
}

const ZERO = '0'.charCodeAt(0)

function offsetMicros(zone: string): Micros {
  if (zone === 'Z' || zone === 'z') return 0
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2))
  return (zone.startsWith('-') ? -minutes : minutes) * 60_000_000
}

/** `3h`, `2d`; `-` for an unreadable time; `0s` for one in the future. */
export function formatAgeSince(timestamp: string | null): string {
  const at = timestamp === null ? null : parseTimestamp(timestamp)
  if (at === null) return '-'
  const [count, unit] = inLargest(DAYS, Math.max(0, Date.now() / 1000 - at / MICROS_PER_SECOND))
  return `${count}${unit[0]}`
}

/** `42 s`, `3 min`, `2 h`. */
export const formatAge = (seconds: number): string => inLargest(HOURS, seconds).join(' ')

/** `3 d ago`, of milliseconds since the Unix epoch. */
export function timeAgo(at: number, now: number): string {
  if (isFuture(at, now)) return 'in the future'
  const seconds = (now - at) / 1000
  return seconds < JUST_NOW_SECONDS ? 'just now' : `${inLargest(YEARS, seconds).join(' ')} ago`
}

/** A minute of future is a difference of clocks. */
export const isFuture = (at: number, now: number): boolean => at > now + 60_000

const JUST_NOW_SECONDS = 10

type Units = readonly (readonly [name: string, seconds: number])[]

const HOURS: Units = [
  ['h', 3600],
  ['min', 60],
  ['s', 1],
]
const DAYS: Units = [['d', 86_400], ...HOURS]
const YEARS: Units = [['y', 31_557_600], ['mo', 2_629_800], ...DAYS]

function inLargest(units: Units, seconds: number): [count: number, unit: string] {
  const [name, size] = units.find(([, size]) => seconds >= size) ?? units.at(-1)!
  return [Math.floor(seconds / size), name]
}
