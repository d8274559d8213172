import { parseJson } from '../../domain/json.ts'
import { at, textAt } from '../../domain/json-at.ts'
import { arrayAt } from '../../domain/json-walk.ts'
import { numberAt, readReports, type SourceReport } from '../common/source-report.ts'

/** An answer of `GET /listings` with every listing as the bytes that it came in. */
export type Envelope = {
  items: readonly Uint8Array[]
  total: number
  /** A plain Registry does not say, since it has nothing to miss. */
  isComplete: boolean
  /** `null` for a plain Registry. */
  sources: readonly SourceReport[] | null
  nextCursor: string | null
}

/** How every envelope of this service begins. */
const OPENING = '{"items":'

/** @throws SyntaxError for what is no envelope */
export const readEnvelope = (bytes: Uint8Array): Envelope => {
  const array = startsWith(bytes, OPENING) ? arrayAt(bytes, OPENING.length) : null
  if (array === null) throw new SyntaxError('not a list of listings')
  const rest = parseJson(`${OPENING}[]${new TextDecoder().decode(bytes.subarray(array.end))}`)
  return {
    items: array.elements.map(({ start, end }) => bytes.subarray(start, end)),
    total: numberAt(rest, 'total_after_filter') ?? array.elements.length,
    isComplete: at(rest, 'complete') !== false,
    sources: Array.isArray(at(rest, 'sources')) ? readReports(rest) : null,
    nextCursor: textAt(rest, 'next_cursor'),
  }
}

const startsWith = (bytes: Uint8Array, text: string): boolean =>
  new TextDecoder().decode(bytes.subarray(0, text.length)) === text
