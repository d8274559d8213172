import { JsonScanner } from '../../../json/scanner.ts'
import { at, parseJson, textAt } from '../../../json/value.ts'
import type { SourceReport } from '../../../wire/source.ts'
import { numberAt, readReports } from '../../common/source-report.ts'

export type Envelope = {
  items: readonly Uint8Array[]
  total: number
  /** True at a plain Registry. */
  isComplete: boolean
  /** `null` for a plain Registry. */
  sources: readonly SourceReport[] | null
  nextCursor: string | null
}

const OPENING = '{"items":'

/** @throws SyntaxError */
export function readEnvelope(bytes: Uint8Array): Envelope {
  const array = startsWith(bytes, OPENING) ? new JsonScanner(bytes).arrayAt(OPENING.length) : null
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
