import { withMember } from '../domain/json-members.ts'
import { type MergedItem, shownName } from '../domain/merge.ts'
import type { MergedAnswer } from './fan-out.ts'

/** The listing envelope of `spec.md` 2.1. `rows` are JSON objects, `total` the matches before paging. */
export const renderPage = (rows: readonly Uint8Array[], total: number): Buffer =>
  renderEnvelope(rows, total, '')

/**
 * The envelope of a gateway (`contract.md` 3.1): every item with its own bytes untouched and `_meta` behind its last
 * member.
 * @param rows the items, where they have been rendered already
 */
export const renderMerged = (
  { items, total, complete, sources, nextCursor }: RenderedAnswer,
  rows: readonly Uint8Array[] = items.map(renderItem),
): Buffer =>
  renderEnvelope(
    rows,
    total,
    `,"complete":${complete},"sources":${JSON.stringify(sources)}` +
      (nextCursor === undefined ? '' : `,"next_cursor":${JSON.stringify(nextCursor)}`),
  )

/** What of an answer a reader sees. `nextCursor`: where there is more. */
export type RenderedAnswer = Omit<MergedAnswer, 'outcomes' | 'shown'> & { nextCursor?: string | undefined }

/** One listing with `_meta` behind its last member. */
export const renderItem = (merged: MergedItem): Buffer =>
  withMember(merged.item.bytes, '_meta', renderMeta(merged))

/** `also_in` and `stale` are always said, the rest where there is something to say. */
const renderMeta = ({ item, registry, alsoIn, stale, differs, conflict }: MergedItem): string =>
  JSON.stringify({
    registry: shownName(registry, item),
    ...(item.publisher === null ? {} : { publisher: item.publisher }),
    also_in: alsoIn,
    stale,
    ...(differs ? { differs } : {}),
    ...(conflict ? { conflict } : {}),
  })

const renderEnvelope = (rows: readonly Uint8Array[], total: number, more: string): Buffer => {
  const parts: Uint8Array[] = [OPENING]
  for (const row of rows) parts.push(row, COMMA)
  if (rows.length > 0) parts.pop()
  parts.push(Buffer.from(`],"count":${rows.length},"total_after_filter":${total}${more}}`))
  return Buffer.concat(parts)
}

const OPENING = Buffer.from('{"items":[')
const COMMA = Buffer.from(',')
