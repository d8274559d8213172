import { withMember } from '../domain/json-members.ts'
import { formatTimestamp } from '../domain/timestamp.ts'
import { type MergedItem, qualifiedName } from './merge.ts'
import type { MergedPage } from './pages.ts'

/** The listing envelope of a Registry. `rows` are JSON objects, `total` the matches before paging. */
export function renderPage(rows: readonly Uint8Array[], total: number): Buffer {
  return renderEnvelope(rows, total, '')
}

/** The envelope of a gateway: it adds `complete`, `sources`, and where there is more `next_cursor`. */
export function renderMerged(
  { total, complete, sources, nextCursor }: Omit<MergedPage, 'items' | 'outcomes'>,
  rows: readonly Uint8Array[],
): Buffer {
  const cursor = nextCursor === undefined ? '' : `,"next_cursor":${JSON.stringify(nextCursor)}`
  return renderEnvelope(rows, total, `,"complete":${complete},"sources":${JSON.stringify(sources)}${cursor}`)
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

function renderEnvelope(rows: readonly Uint8Array[], total: number, more: string): Buffer {
  const parts: Uint8Array[] = [OPENING]
  for (const row of rows) parts.push(row, COMMA)
  if (rows.length > 0) parts.pop()
  parts.push(Buffer.from(`],"count":${rows.length},"total_after_filter":${total}${more}}`))
  return Buffer.concat(parts)
}

const OPENING = Buffer.from('{"items":[')
const COMMA = Buffer.from(',')
