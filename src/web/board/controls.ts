import type { JsonValue } from '../../domain/json.ts'
import { at, textAt } from '../../domain/json-at.ts'
import { listAt } from '../common/source-report.ts'

/** The control for one filter of the vocabulary. */
export type Control = {
  name: string
  label: string
  /** The values that the listing shape knows; none where it leaves them open. */
  choices: readonly string[]
  kind: ControlKind
  /** Where in a listing it looks, for suggestions; `null` where that is not a plain path. */
  path: readonly string[] | null
  /** A bare value is this end of the range. */
  bound: 'lower_bound' | 'upper_bound' | null
  /** Whether listings that do not say pass. */
  keepsMissing: boolean
  /** The only Registries that know it; `null` for all of ours. */
  registries: readonly string[] | null
}

/** `choice`: any of some; `flag`: yes or no; `presence`: there or not; `range`; `none`: none of some; `text`: this. */
type ControlKind = 'choice' | 'flag' | 'presence' | 'range' | 'none' | 'text'

/** More than this makes no control. */
const MAX_CONTROLS = 200
const MAX_CHOICES = 200

/** The controls that a `GET /filter-spec` body asks for, in its order. */
export const controlsOf = (spec: JsonValue): Control[] =>
  listAt(spec, 'filters')
    .slice(0, MAX_CONTROLS)
    .map((filter) => controlOf(filter, spec))

const controlOf = (filter: JsonValue, spec: JsonValue): Control => {
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

const kindOf = (
  op: string | null,
  { isBoolean, hasChoices }: { isBoolean: boolean; hasChoices: boolean },
): ControlKind => {
  if (op === 'range') return 'range'
  if (op === 'exists') return 'presence'
  if (op === 'not_in') return 'none'
  if (isBoolean) return 'flag'
  return hasChoices ? 'choice' : 'text'
}

/** `gpu_count_min` is about the `gpu count`: its control has both ends. */
const labelOf = (name: string): string => name.replace(/_(min|max)$/, '').replaceAll('_', ' ')

/** `$.offer_resource.gpu_model`, `$.accepted_escrows[*].literal_fields.token`; `null` for other forms. */
const readPath = (path: string): string[] | null =>
  /^\$?(\.?[\w-]+(\[\*\])?)+$/.test(path)
    ? path
        .replace(/^\$?\.?/, '')
        .split('.')
        .flatMap((part) => (part.endsWith('[*]') ? [part.slice(0, -3), '[*]'] : [part]))
    : null

/** The `enum` of the listing shape at a path, where all of it is text. */
const choicesAt = (shape: JsonValue, path: readonly string[]): string[] => {
  const steps = path.flatMap((step) => (step === '[*]' ? ['items'] : ['properties', step]))
  const values = listAt(shape, ...steps, 'enum').slice(0, MAX_CHOICES)
  return values.every((value) => typeof value === 'string' && isListable(value)) ? values.map(String) : []
}

/** The set form has commas between its values, and no way to write one inside. */
const isListable = (value: string): boolean => !/[,[\]]/.test(value) && value.trim() === value && value !== ''
