import { allowedValues } from '../../../filter-spec/allowed-values.ts'
import { readJsonSet, writeSet } from '../../../filter-spec/literals.ts'
import type { Operation } from '../../../filter-spec/operations/operation.ts'
import { isOp, OPERATIONS, setFormOf } from '../../../filter-spec/operations/operations.ts'
import { compilePath, type Path } from '../../../filter-spec/path.ts'
import { at, type JsonValue, listAt, textAt } from '../../../json/value.ts'
import { type DerivedName, isCovered, isDerivedName } from '../../../vocabulary/names.ts'
import { filterLabel } from '../members.ts'

export type Control = {
  name: string
  label: string
  /** From the listing shape; empty where it leaves them open. */
  choices: readonly string[]
  kind: ControlKind
  /** `integer`, `number`, `address` and so on. */
  valueType: string
  /** The end of the range that a bare value sets. */
  bound: 'lower_bound' | 'upper_bound' | null
  keepsMissing: boolean
  /** `null` for the local filters. */
  registries: readonly string[] | null
}

/** A control of values is a `choice` of some, a `flag` or a `text`. */
type ControlKind = Exclude<Operation<never>['control'], 'values'> | 'choice' | 'flag' | 'text'

const MAX_CONTROLS = 200

/** Those of the filter spec. */
export const controlsOf = (spec: JsonValue): Control[] =>
  listAt(spec, 'filters')
    .slice(0, MAX_CONTROLS)
    .map((filter) => controlOf(filter, spec))

/** With the derived filters, which no filter spec declares; one that does has the name for itself. */
export const withDerived = (declared: readonly Control[], spec: JsonValue): Control[] => [
  ...DERIVED_CONTROLS.filter(
    ({ name }) => isUsable(name, spec) && declared.every((control) => control.name !== name),
  ),
  ...declared,
]

/** Whether the filter spec declares the filter, or leaves it among the derived ones. */
export function isUsable(name: string, spec: JsonValue): boolean {
  const filters = listAt(spec, 'filters')
  const paths = filters.flatMap((filter) => compiledAt(filter) ?? [])
  return (
    filters.some((filter) => textAt(filter, 'name') === name) ||
    (isDerivedName(name) && isCovered(name, paths))
  )
}

/** `null` for a path that a gateway of a later version may have. */
function compiledAt(filter: JsonValue): [Path] | null {
  try {
    return [compilePath(textAt(filter, 'path') ?? '')]
  } catch {
    return null
  }
}

const derived = (name: DerivedName, more: Partial<Control> = {}): Control => ({
  name,
  label: filterLabel(name),
  choices: [],
  kind: 'text',
  valueType: 'string',
  bound: null,
  keepsMissing: false,
  registries: null,
  ...more,
})
const AT_LEAST = { kind: 'range', valueType: 'number', bound: 'lower_bound' } as const

const DERIVED_CONTROLS: readonly Control[] = [
  derived('gpu'),
  derived('gpu_variant'),
  derived('gpu_memory_gb_min', AT_LEAST),
]

function controlOf(filter: JsonValue, spec: JsonValue): Control {
  const name = textAt(filter, 'name') ?? ''
  const bound = textAt(filter, 'alias_kind')
  const choices = choicesAt(spec, textAt(filter, 'path') ?? '')
  const isBoolean = textAt(filter, 'value_type') === 'boolean'
  return {
    name,
    label: filterLabel(name),
    choices,
    kind: kindOf(textAt(filter, 'op'), { isBoolean, hasChoices: choices.length > 0 }),
    valueType: textAt(filter, 'value_type') ?? '',
    bound: bound === 'lower_bound' || bound === 'upper_bound' ? bound : null,
    keepsMissing: textAt(filter, 'on_missing') === 'pass',
    registries: Array.isArray(at(filter, 'registries')) ? listAt(filter, 'registries').map(String) : null,
  }
}

function kindOf(
  op: string | null,
  { isBoolean, hasChoices }: { isBoolean: boolean; hasChoices: boolean },
): ControlKind {
  const control = isOp(op) ? OPERATIONS[op].control : 'values'
  if (control !== 'values') return control
  if (isBoolean) return 'flag'
  return hasChoices ? 'choice' : 'text'
}

/** What the listing shape names; none where a set would lose the blanks of one. */
function choicesAt(spec: JsonValue, path: string): readonly string[] {
  try {
    const values = allowedValues(at(spec, 'listing_shape'), compilePath(path))
    return values.every((value) => value !== '' && value.trim() === value) ? values : []
  } catch {
    return [] // a gateway of a later version may have other paths
  }
}

export type RangeEnds = { low: string; high: string }

// Filter values (docs/protocol.md#61-plain-form-and-set-form). `null`: the filter is not applied.

export function writeChoices(values: readonly string[]): string | null {
  if (values.length === 0) return null
  return values.length === 1 ? values[0]! : writeSet('in', values)
}

export const readChoices = (value: string): string[] => readItems('in', value) ?? [value]

export function writeExclusions(text: string): string | null {
  const items = split(text)
  return items.length === 0 ? null : writeSet('not_in', items)
}

export const readExclusions = (value: string): string | null => readItems('not_in', value)?.join(', ') ?? null

const readPresence = (value: string): string | null => /^exists:(true|false)$/.exec(value)?.[1] ?? null

/** A bare value if only the filter's own end is set, else an interval. */
export function writeRange({ low, high }: RangeEnds, bound: Control['bound']): string | null {
  const [from, to] = [low.trim(), high.trim()]
  if (from === '' && to === '') return null
  if (bound === 'lower_bound' && to === '') return from
  if (bound === 'upper_bound' && from === '') return to
  return `range:[${from},${to === '' ? ')' : `${to}]`}`
}

/** `null` for an exclusive end, which the control cannot show. */
export function readRange(value: string, bound: Control['bound']): RangeEnds | null {
  const ends = /^range:([[(])([^,]*),([^,]*)([\])])$/.exec(value)
  if (ends === null) {
    if (value.startsWith('range:') || bound === null) return null
    return bound === 'lower_bound' ? { low: value, high: '' } : { low: '', high: value }
  }
  const [, open, low = '', high = '', close] = ends
  const isInclusive = (open === '[' || low.trim() === '') && (close === ']' || high.trim() === '')
  return isInclusive ? { low: low.trim(), high: high.trim() } : null
}

export function canShow({ kind, choices, bound }: Control, value: string): boolean {
  switch (kind) {
    case 'choice':
      return readChoices(value).every((one) => choices.includes(one))
    case 'flag':
      return value === 'true' || value === 'false'
    case 'presence':
      return readPresence(value) !== null
    case 'exclusions':
      return readExclusions(value) !== null
    case 'range':
      return readRange(value, bound) !== null
    case 'text':
      return true
  }
}

/** Of both set forms: `in:[a,b]`, and the JSON array that values with a comma need. */
export function readItems(op: string, value: string): string[] | null {
  if (!value.startsWith(`${op}:[`) || !value.endsWith(']')) return null
  const payload = value.slice(op.length + 1)
  return [...(readJsonSet(payload) ?? split(payload.slice(1, -1)))]
}

const split = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')

/** Why a value cannot be sent; `null` if it can. */
export function faultIn(text: string, valueType: string): string | null {
  const form = FORMS.get(valueType)
  return form === undefined || text === '' || form.pattern.test(text) ? null : form.fault
}

/** What is wrong with one end beside the other. */
export function rangeFault(ends: RangeEnds, edge: keyof RangeEnds, valueType: string): string | null {
  const [low, high] = [ends.low.trim(), ends.high.trim()]
  const fault = faultIn(ends[edge].trim(), valueType)
  const isInverted = fault === null && low !== '' && high !== '' && Number(low) > Number(high)
  return isInverted ? 'The lower end is above the upper end.' : fault
}

const FORMS: ReadonlyMap<string, { pattern: RegExp; fault: string }> = new Map([
  ['integer', { pattern: /^[+-]?\d+$/, fault: 'Enter a whole number, such as 8.' }],
  ['number', { pattern: /^[+-]?\d+(\.\d+)?$/, fault: 'Enter a number, such as 99.5.' }],
  ['address', { pattern: /^0x[\da-f]{40}$/i, fault: 'Enter an address: 0x and 40 hexadecimal digits.' }],
])

export const toggleChoice = (chosen: readonly string[], value: string): string | null =>
  writeChoices(chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value])

/** Whether a bare value would be read as a set form (docs/protocol.md#61-plain-form-and-set-form). */
export const canChoose = (value: string): boolean => value.trim() !== '' && setFormOf(value) === null
