import { readBoolean, trim } from './literal.ts'
import { quote, refuse } from './refusal.ts'

/** docs/protocol.md#61-plain-form-and-set-form. A payload begins with its bracket. */
export type SetForm = { op: 'in' | 'not_in' | 'range'; payload: string } | { op: 'exists'; wanted: boolean }

/** `null` for a plain value: any that does not begin exactly as a set form. */
export function readSetForm(raw: string): SetForm | null {
  for (const [start, op] of STARTS) {
    if (raw.startsWith(start)) return { op, payload: trim(raw.slice(op.length + 1)) }
  }
  if (!raw.startsWith(EXISTS)) return null
  const wanted = readBoolean(raw.slice(EXISTS.length))
  return wanted === null ? null : { op: 'exists', wanted }
}

const EXISTS = 'exists:'
const STARTS = [
  ['not_in:[', 'not_in'],
  ['in:[', 'in'],
  ['range:[', 'range'],
  ['range:(', 'range'],
] as const

/** Trimmed; keeps empty items, but blanks alone are an empty list. @throws EntrepotError `bad_request` */
export function readItems(parameter: string, payload: string): string[] {
  if (!payload.endsWith(']')) {
    return refuse(parameter, `set form must be enclosed in '[ ]' — got ${quote(payload)}`)
  }
  const inside = trim(payload.slice(1, -1))
  return inside === '' ? [] : inside.split(',').map(trim)
}

/** Trimmed text. An empty end is open; never both. */
type Interval = { low: string; high: string; lowInclusive: boolean; highInclusive: boolean }

/** @throws EntrepotError `bad_request` */
export function readInterval(parameter: string, payload: string): Interval {
  const highInclusive = payload.endsWith(']')
  if (!highInclusive && !payload.endsWith(')')) {
    return refuse(parameter, `range form requires '[ ]' or '( )' delimiters — got ${quote(payload)}`)
  }
  const inside = payload.slice(1, -1)
  const comma = inside.indexOf(',')
  if (comma < 0) return refuse(parameter, "range form needs a ',' separator — e.g. [16,128] or [16,)")
  const low = trim(inside.slice(0, comma))
  const high = trim(inside.slice(comma + 1))
  if (low === '' && high === '') return refuse(parameter, 'range needs at least one bound')
  return { low, high, lowInclusive: payload.startsWith('['), highInclusive }
}
