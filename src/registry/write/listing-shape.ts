import type { ErrorObject } from 'ajv'
import { type FieldName, LISTING_FIELDS, type ListingFields } from '../../domain/listing.ts'
import type { Violation } from '../../errors.ts'
import { compileListingShape } from '../../filter-spec/listing-shape.ts'
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../json/value.ts'
import { MAX_VIOLATIONS } from '../errors.ts'

export type ShapeCheck = (candidate: Candidate) => Violation[]

/** Without the oracle in a dry run, as in the deployed protocol. */
export type Candidate = { listing_id: string; storefront_url: string | null } & {
  [Name in FieldName]?: JsonValue
}

/**
 * Null members count as absent, at every depth.
 * @throws Error with the reason why `shape` is not a JSON Schema 2020-12
 */
export function createShapeCheck(shape: Readonly<Record<string, unknown>>): ShapeCheck {
  const validate = compileListingShape(shape)
  return (candidate) => {
    const checked = plainForm(candidate) as JsonObject
    return validate(checked) ? [] : describeViolations(validate.errors ?? [], checked)
  }
}

/** What a shape sees of a listing. @param fields all of them, each as JSON text */
export function candidateOf(
  listingId: string,
  fields: ListingFields,
  storefrontUrl: string | null,
): Candidate {
  const names = Object.keys(LISTING_FIELDS) as FieldName[]
  // A shape may have been written before there were settlement options.
  const present = names.filter((name) => name !== 'settlement_options' || fields.settlementOptions !== '[]')
  const values = present.map((name) => [name, parseJson(fields[LISTING_FIELDS[name]])])
  return { listing_id: listingId, storefront_url: storefrontUrl, ...Object.fromEntries(values) }
}

/** Without null members and `bigint`, which the validator lacks: a shape's bounds are doubles anyway. */
function plainForm(value: JsonValue): JsonValue {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(plainForm)
  if (!isJsonObject(value)) return value
  const members = Object.entries(value).filter(([, member]) => member !== null)
  return Object.fromEntries(members.map(([name, member]) => [name, plainForm(member)]))
}

/** Of which those that are described are chosen; the rest are only counted. */
const MAX_SORTED = 5000
const MAX_SHOWN_CHARACTERS = 200

/** Sorted by path (`accepted_escrows[0].escrow_address` or `<root>`). */
function describeViolations(errors: readonly ErrorObject[], candidate: JsonObject): Violation[] {
  const findings = errors.filter(isFinding)
  const sorted = findings.slice(0, MAX_SORTED).map((error) => ({ error, steps: stepsOf(error.instancePath) }))
  sorted.sort((a, b) => compareSteps(a.steps, b.steps))
  const violations = sorted.slice(0, MAX_VIOLATIONS).map(({ error, steps }) => ({
    path: dotted(steps, candidate),
    message: messageOf(error),
  }))
  const rest = findings.length - violations.length
  return rest === 0 ? violations : [...violations, { path: '<root>', message: `and ${rest} more violations` }]
}

/** Like the deployed protocol, leaves out the branches of a failed choice, and a conditional's `if`. */
const isFinding = ({ keyword, schemaPath }: ErrorObject): boolean =>
  keyword !== 'if' &&
  keyword !== 'propertyNames' &&
  !/\/(anyOf|oneOf)\/\d+\/|(?<!\/properties)\/contains\//.test(schemaPath)

const stepsOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))

function dotted(steps: readonly string[], candidate: JsonObject): string {
  let path = ''
  let value: JsonValue | undefined = candidate
  for (const step of steps) {
    path += Array.isArray(value) ? `[${step}]` : `${path === '' ? '' : '.'}${step}`
    value = memberOf(value, step)
  }
  return path === '' ? '<root>' : path
}

function memberOf(value: JsonValue | undefined, step: string): JsonValue | undefined {
  if (Array.isArray(value)) return value[Number(step)]
  return isJsonObject(value) ? value[step] : undefined
}

function compareSteps(a: readonly string[], b: readonly string[]): number {
  for (let n = 0; n < Math.min(a.length, b.length); n++) {
    const [one, other] = [a[n]!, b[n]!]
    if (one === other) continue
    const bothNumbers = /^\d+$/.test(one) && /^\d+$/.test(other)
    return bothNumbers ? Number(one) - Number(other) : one < other ? -1 : 1
  }
  return a.length - b.length
}

/** That of ajv names neither a member that is too much nor the values that are allowed. */
function messageOf({ message = '', propertyName, params }: ErrorObject): string {
  const { additionalProperty, unevaluatedProperty, allowedValues, allowedValue } = params
  const named = propertyName ?? additionalProperty ?? unevaluatedProperty ?? allowedValues ?? allowedValue
  const text = named === undefined ? message : `${message}: ${[named].flat().join(', ')}`
  return text.length > MAX_SHOWN_CHARACTERS ? `${text.slice(0, MAX_SHOWN_CHARACTERS)}…` : text
}
