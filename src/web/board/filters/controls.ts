import type { JsonValue } from '../../../json/value.ts'
import { at, textAt } from '../../../json/value.ts'
import { listAt } from '../../common/source-report.ts'

export type Control = {
  name: string
  label: string
  /** From the listing shape; empty where it leaves them open. */
  choices: readonly string[]
  kind: ControlKind
  path: readonly string[] | null
  /** The end of the range that a bare value sets. */
  bound: 'lower_bound' | 'upper_bound' | null
  keepsMissing: boolean
  /** `null` for the local filters. */
  registries: readonly string[] | null
}

/** `presence`: exists or not; `none`: none of some; `choice`: any of some; `text`: one value. */
type ControlKind = 'choice' | 'flag' | 'presence' | 'range' | 'none' | 'text'

const MAX_CONTROLS = 200
const MAX_CHOICES = 200

export const controlsOf = (spec: JsonValue): Control[] =>
  listAt(spec, 'filters')
    .slice(0, MAX_CONTROLS)
    .map((filter) => controlOf(filter, spec))

function controlOf(filter: JsonValue, spec: JsonValue): Control {
  const name = textAt(filter, 'name') ?? ''
  const path = readPath(textAt(filter, 'path') ?? '')
  const bound = textAt(filter, 'alias_kind')
  const choices = path === null ? [] : choicesAt(at(spec, 'listing_shape'), path)
  const isBoolean = textAt(filter, 'value_type') === 'boolean'
  return {
    name,
    label: labelOf(name),
    choices,
    kind: kindOf(textAt(filter, 'op'), { isBoolean, hasChoices: choices.length > 0 }),
    path: path?.includes('[*]') === false ? path : null,
    bound: bound === 'lower_bound' || bound === 'upper_bound' ? bound : null,
    keepsMissing: textAt(filter, 'on_missing') === 'pass',
    registries: Array.isArray(at(filter, 'registries')) ? listAt(filter, 'registries').map(String) : null,
  }
}

function kindOf(
  op: string | null,
  { isBoolean, hasChoices }: { isBoolean: boolean; hasChoices: boolean },
): ControlKind {
  if (op === 'range') return 'range'
  if (op === 'exists') return 'presence'
  if (op === 'not_in') return 'none'
  if (isBoolean) return 'flag'
  return hasChoices ? 'choice' : 'text'
}

/** `gpu_count_min` becomes `gpu count`: its control has both ends. */
const labelOf = (name: string): string => name.replace(/_(min|max)$/, '').replaceAll('_', ' ')

/** `$.offer_resource.gpu_model`, `$.accepted_escrows[*].literal_fields.token`; `null` for other forms. */
const readPath = (path: string): string[] | null =>
  /^\$?(\.?[\w-]+(\[\*\])?)+$/.test(path)
    ? path
        .replace(/^\$?\.?/, '')
        .split('.')
        .flatMap((part) => (part.endsWith('[*]') ? [part.slice(0, -3), '[*]'] : [part]))
    : null

function choicesAt(shape: JsonValue, path: readonly string[]): string[] {
  const steps = path.flatMap((step) => (step === '[*]' ? ['items'] : ['properties', step]))
  const values = listAt(shape, ...steps, 'enum').slice(0, MAX_CHOICES)
  return values.every((value) => typeof value === 'string' && isListable(value)) ? values.map(String) : []
}

/** The set form has no escape for commas and brackets. */
const isListable = (value: string): boolean => !/[,[\]]/.test(value) && value.trim() === value && value !== ''
