import { type PageReport, readPageReport } from '../../../client/page-walk.ts'
import { JsonScanner } from '../../../json/scanner.ts'
import { parseJson } from '../../../json/value.ts'

/** Listings are the bytes that were published. */
export type Envelope = PageReport & { items: readonly Uint8Array[] }

const OPENING = '{"items":'

/** @throws SyntaxError */
export function readEnvelope(bytes: Uint8Array): Envelope {
  const array = startsWith(bytes, OPENING) ? new JsonScanner(bytes).arrayAt(OPENING.length) : null
  if (array === null) throw new SyntaxError('not a list of listings')
  const rest = parseJson(`${OPENING}[]${new TextDecoder().decode(bytes.subarray(array.end))}`)
  return {
    ...readPageReport(rest),
    items: array.elements.map(({ start, end }) => bytes.subarray(start, end)),
  }
}

const startsWith = (bytes: Uint8Array, text: string): boolean =>
  new TextDecoder().decode(bytes.subarray(0, text.length)) === text
