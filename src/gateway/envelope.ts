import { withMember, withMemberParts } from '../domain/json-members.ts'
import { formatTimestamp } from '../domain/timestamp.ts'
import { type MergedItem, qualifiedName } from './merge.ts'
import type { MergedPage } from './pages.ts'

/** The listing envelope of a Registry. `rows` are JSON objects, `total` the matches before paging. */
export function renderPage(rows: readonly Uint8Array[], total: number): Buffer {
  const parts: Uint8Array[] = [OPENING]
  for (const row of rows) parts.push(row, COMMA)
  return closeEnvelope(parts, { count: rows.length, total, more: '' })
}

/**
 * The envelope of a gateway: it adds `complete`, `sources`, and where there is more `next_cursor`.
 * @returns the envelope, and the part of it that is its items
 */
export function renderMerged({ items, total, complete, sources, nextCursor }: Omit<MergedPage, 'outcomes'>): {
  body: Buffer
  rows: Buffer
} {
  const cursor = nextCursor === undefined ? '' : `,"next_cursor":${JSON.stringify(nextCursor)}`
  const more = `,"complete":${complete},"sources":${JSON.stringify(sources)}${cursor}`
  const parts: Uint8Array[] = [OPENING]
  for (const item of items) parts.push(...withMemberParts(item.bytes, '_meta', renderMeta(item)), COMMA)
  const body = closeEnvelope(parts, { count: items.length, total, more })
  const rowsEnd = body.length - parts.at(-1)!.length
  return { body, rows: body.subarray(OPENING.length, rowsEnd) }
}

/** One listing, its bytes untouched, with `_meta` behind its last member. */
export function renderItem(merged: MergedItem): Buffer {
  return withMember(merged.bytes, '_meta', renderMeta(merged))
}

/** `also_in` and `stale` are always there, the rest where it says something. */
function renderMeta(merged: MergedItem): string {
  const { item, registry, alsoIn, stale, differs, conflict, disputed, position } = merged
  return JSON.stringify({
    registry: qualifiedName(registry, item),
    ...(item.publisher === null ? {} : { publisher: item.publisher }),
    also_in: alsoIn,
    stale,
    ...(differs ? { differs } : {}),
    ...(conflict ? { conflict } : {}),
    ...(disputed.length === 0 ? {} : { disputed }),
    ...(position === item.createdAt ? {} : { position: formatTimestamp(position) }),
  })
}

function closeEnvelope(
  parts: Uint8Array[],
  { count, total, more }: { count: number; total: number; more: string },
): Buffer {
  if (count > 0) parts.pop() // the last comma
  parts.push(Buffer.from(`],"count":${count},"total_after_filter":${total}${more}}`))
  return Buffer.concat(parts)
}

const OPENING = Buffer.from('{"items":[')
const COMMA = Buffer.from(',')
