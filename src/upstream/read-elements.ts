import { parseJson } from '../domain/json.ts'
import { arrayOf, type Element, walkValue } from '../domain/json-walk.ts'
import type { UpstreamKind } from '../domain/upstream.ts'
import { ItemScanner } from './scan-item.ts'
import { type ReadElement, readDocument, readMembers } from './upstream-item.ts'

export const MAX_ITEM_BYTES = 65_536
export const MAX_DEPTH = 32

/** An element of `items`; `read` is `null` where it takes a parser to read it. */
export type FoundElement = Element & { read: ReadElement | null }

/**
 * The elements of the array of listings that starts at `at`, and where it ends; `null` where it is none. Most are read
 * on the way, without making documents of them, and vouched for as JSON; nothing inside the others is checked yet.
 * @param most beyond so many elements none are read: nobody will want them
 */
export const findElements = (
  bytes: Buffer,
  at: number,
  most: number,
): { elements: FoundElement[]; end: number } | null => {
  const scanner = new ItemScanner(bytes, MAX_DEPTH)
  let count = 0
  return arrayOf(bytes, at, (start) => {
    const end = count++ < most ? scanner.scan(start) : -1
    if (end !== -1 && end - start <= MAX_ITEM_BYTES)
      return { start, end, depth: 0, read: readScanned(bytes.subarray(start, end), scanner) }
    const walked = walkValue(bytes, start)
    return { start, end: walked.end, depth: walked.depth, read: null }
  })
}

/**
 * One that is too long or nests too deep is none.
 * @throws SyntaxError for what is not JSON
 */
export const readElement = (
  bytes: Buffer,
  { start, end, depth, read }: FoundElement,
  kind: UpstreamKind,
): ReadElement => {
  if (read !== null) return read
  const own = bytes.subarray(start, end)
  const isWithinLimits = own.length <= MAX_ITEM_BYTES && depth <= MAX_DEPTH
  return readDocument(own, isWithinLimits ? parseJson(own.toString()) : undefined, kind)
}

/** No gateway's: those say something in `_meta`, on which the scanner gives up. */
const readScanned = (bytes: Buffer, scanner: ItemScanner): ReadElement =>
  readMembers(bytes, {
    listingId: scanner.value('listing_id'),
    publisherId: scanner.value('publisher_id'),
    storefrontUrl: scanner.value('storefront_url'),
    status: scanner.value('status'),
    created: scanner.value('created_at'),
  })
