import type { Control } from './controls.ts'

/** Filter values (docs/protocol.md#61-plain-form-and-set-form) of controls. `null`: not applied. */

export type Range = { low: string; high: string }

export function writeChoices(values: readonly string[]): string | null {
  if (values.length === 0) return null
  return values.length === 1 ? values[0]! : `in:[${values.join(',')}]`
}

export const readChoices = (value: string): string[] => readItems('in', value) ?? [value]

export function writeNone(text: string): string | null {
  const items = split(text)
  return items.length === 0 ? null : `not_in:[${items.join(',')}]`
}

export const readNone = (value: string): string | null => readItems('not_in', value)?.join(', ') ?? null

const readPresence = (value: string): string | null => /^exists:(true|false)$/.exec(value)?.[1] ?? null

/** A bare value if only the filter's own end is set, else an interval. */
export function writeRange({ low, high }: Range, bound: Control['bound']): string | null {
  const [from, to] = [low.trim(), high.trim()]
  if (from === '' && to === '') return null
  if (bound === 'lower_bound' && to === '') return from
  if (bound === 'upper_bound' && from === '') return to
  return `range:[${from},${to === '' ? ')' : `${to}]`}`
}

/** `null` for an exclusive end, which the control cannot show. */
export function readRange(value: string, bound: Control['bound']): Range | null {
  const ends = /^range:([[(])([^,]*),([^,]*)([\])])$/.exec(value)
  if (ends === null) {
    if (value.startsWith('range:') || bound === null) return null
    return bound === 'lower_bound' ? { low: value, high: '' } : { low: '', high: value }
  }
  const [, open, low = '', high = '', close] = ends
  const isInclusive = (open === '[' || low.trim() === '') && (close === ']' || high.trim() === '')
  return isInclusive ? { low: low.trim(), high: high.trim() } : null
}

export function isShowable({ kind, choices, bound }: Control, value: string): boolean {
  switch (kind) {
    case 'choice':
      return readChoices(value).every((one) => choices.includes(one))
    case 'flag':
      return value === 'true' || value === 'false'
    case 'presence':
      return readPresence(value) !== null
    case 'none':
      return readNone(value) !== null
    case 'range':
      return readRange(value, bound) !== null
    case 'text':
      return true
  }
}

const readItems = (op: string, value: string): string[] | null =>
  value.startsWith(`${op}:[`) && value.endsWith(']') ? split(value.slice(op.length + 2, -1)) : null

const split = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
