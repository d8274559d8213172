import { createHash } from 'node:crypto'
import { EntrepotError } from '../errors.ts'
import type { FilterSpec } from './filter.ts'

/** The listing shape must still distinguish floats from integers. */
type EtagSource = Pick<FilterSpec, 'version' | 'schema'> & {
  listingShape: CanonicalValue
  /** Their order counts. */
  filters: readonly CanonicalValue[]
}

/** Lower-case hex SHA-256 of the canonical form: docs/protocol.md#72-the-response-and-its-etag. */
export const filterSpecEtag = (source: EtagSource): string =>
  createHash('sha256').update(canonicalForm(source)).digest('hex')

export const canonicalForm = ({ version, schema, listingShape, filters }: EtagSource): string =>
  canonicalJson({
    version,
    ...(schema === null ? {} : { schema }),
    listing_shape: listingShape,
    filters,
  })

/** A number written as a float: `1.0` is not `1` in the canonical form. Always finite. */
export class Float {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }
}

export type CanonicalValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | Float
  | readonly CanonicalValue[]
  | { readonly [name: string]: CanonicalValue }

/** The canonical JSON of docs/protocol.md#72-the-response-and-its-etag. A bare number is an integer. */
export function canonicalJson(value: CanonicalValue): string {
  if (typeof value === 'string') return canonicalString(value)
  if (value instanceof Float) return canonicalFloat(value.value)
  if (value === null || typeof value !== 'object') return String(value)
  if (isList(value)) return `[${value.map(canonicalJson).join(',')}]`
  const members = Object.entries(value).sort(([a], [b]) => compareCodePoints(a, b))
  return `{${members.map(([name, member]) => `${canonicalString(name)}:${canonicalJson(member)}`).join(',')}}`
}

/** `Array.isArray` does not narrow a readonly array. */
const isList = (value: object): value is readonly CanonicalValue[] => Array.isArray(value)

/** Bytes of UTF-8 sort as code points do; JavaScript compares UTF-16 units. */
const compareCodePoints = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** ASCII only. */
const canonicalString = (text: string): string => JSON.stringify(text).replace(/[^ -~]/g, escapeUnit)

const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Python's `repr`: the shortest digits that read back, with an exponent below 1e-4 and from 1e16 up. */
function canonicalFloat(value: number): string {
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  const [mantissa = '', exponentText] = Math.abs(value).toExponential().split('e')
  const exponent = Number(exponentText)
  const digits = mantissa.replace('.', '')
  if (exponent < -4 || exponent >= 16) {
    const size = String(Math.abs(exponent)).padStart(2, '0')
    return `${sign}${mantissa}e${exponent < 0 ? '-' : '+'}${size}`
  }
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  const integer = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0')
  return `${sign}${integer}.${digits.slice(exponent + 1) || '0'}`
}

/** @throws EntrepotError `filter_spec_mismatch` with `etag`. Quotes and a weak prefix are optional. */
export function requireEtag(
  ifMatch: string | undefined,
  etag: string,
  ...alternatives: readonly string[]
): void {
  if (ifMatch === undefined) return
  const tag = ifMatch
    .trim()
    .replace(/^[W/]+/, '')
    .trim()
    .replace(/^"+|"+$/g, '')
  if (tag === etag || alternatives.includes(tag)) return
  throw new EntrepotError('filter_spec_mismatch', 'filter-spec etag mismatch', {
    members: { current_etag: etag },
  })
}
