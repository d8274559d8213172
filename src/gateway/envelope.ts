import { formatTimestamp } from '../domain/timestamp.ts'
import { withMember } from '../json/members.ts'
import { CLOSE_BRACE, COMMA } from '../json/scanner.ts'
import { ENVELOPE_START, envelopeEnd } from '../wire/envelope.ts'
import { type MergedItem, qualifiedName } from './merged-item.ts'
import type { MergedPage } from './pages.ts'

/**
 * One buffer, since copying is faster than a view of each item. `rows`: the part of `body` with the items.
 */
export function renderMerged({ items, total, complete, sources, nextCursor }: Omit<MergedPage, 'outcomes'>): {
  body: Buffer
  rows: Buffer
} {
  const cursor = nextCursor === undefined ? '' : `,"next_cursor":${JSON.stringify(nextCursor)}`
  const more = `,"complete":${complete},"sources":${JSON.stringify(sources)}${cursor}`
  const tail = envelopeEnd(items.length, total, more)
  const metas = items.map((item) => `,"_meta":${renderMeta(item)}}`)
  let size = ENVELOPE_START.length + Buffer.byteLength(tail) - Math.min(1, items.length)
  // Each item with a comma before it or its own brace less.
  for (let n = 0; n < items.length; n++) size += items[n]!.bytes.length + Buffer.byteLength(metas[n]!)
  const body = Buffer.allocUnsafeSlow(size)
  let end = ENVELOPE_START.copy(body)
  for (let n = 0; n < items.length; n++) {
    const { bytes } = items[n]!
    if (n > 0) body[end++] = COMMA
    body.set(bytes, end)
    end += bytes.length - 1
    while (body[end] !== CLOSE_BRACE) end--
    end += body.write(metas[n]!, end)
  }
  const rows = body.subarray(ENVELOPE_START.length, end)
  end += body.write(tail, end)
  return { body: body.subarray(0, end), rows }
}

export function renderItem(merged: MergedItem): Buffer {
  return withMember(merged.bytes, '_meta', renderMeta(merged))
}

function renderMeta(merged: MergedItem): string {
  const { item, registry, alsoIn, stale, differs, conflict, disputed, position, price } = merged
  const publisher = item.publisher === null ? '' : `,"publisher":${JSON.stringify(item.publisher)}`
  let meta = `{"registry":${JSON.stringify(qualifiedName(registry, item))}${publisher}`
  meta += `,"also_in":${alsoIn.length === 0 ? '[]' : JSON.stringify(alsoIn)},"stale":${stale}`
  if (differs) meta += ',"differs":true'
  if (conflict) meta += ',"conflict":true'
  if (disputed.length > 0) meta += `,"disputed":${JSON.stringify(disputed)}`
  if (position !== item.createdAt) meta += `,"position":"${formatTimestamp(position)}"`
  if (price !== undefined) meta += `,"price":${JSON.stringify(price)}`
  return `${meta}}`
}
