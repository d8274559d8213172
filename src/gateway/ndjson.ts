import type { Reader } from '../domain/api-key.ts'
import { withDeadline } from '../domain/deadline.ts'
import type { MergedItem } from '../domain/merge.ts'
import type { NamedSource } from '../domain/page.ts'
import type { ListingQuery } from '../domain/query.ts'
import { SourceError } from '../domain/source-error.ts'
import { renderItem } from './envelope.ts'
import { type Asking, countReturned, describeOutcomes, type Outcome, onlyLocal } from './fan-out.ts'
import { refuseUnusable } from './refuse-unusable.ts'
import { visibleSources } from './visible.ts'
import { Walk } from './walk.ts'

/** About as much as is written in one go. */
const CHUNK_BYTES = 64 * 1024

export type StreamOptions = { sources: readonly NamedSource[]; budgetMs: number }

/** A merged sequence on its way: how it began, and its lines. */
export type MergedStream = { outcomes: readonly Outcome[]; lines: AsyncGenerator<Buffer> }

export type StreamListings = (
  query: ListingQuery,
  reader: Reader,
  signal: AbortSignal,
  asking: Asking,
) => Promise<MergedStream>

/**
 * The whole merged sequence, one listing a line, and a last line that says what became of every source
 * (`contract.md` 3.1, `application/x-ndjson`). It is read as it is taken, a stretch of each source at a time; a source
 * that is out for longer than the budget in one of these rounds is left behind, and the last line says so.
 *
 * Rejects as `fanOut` does for what is known before the first line.
 */
export const streamListings =
  ({ sources, budgetMs }: StreamOptions): StreamListings =>
  async (query, reader, signal, asking) => {
    const visible = visibleSources(sources, reader, asking.named)
    const walk = new Walk(asking.isLoop ? visible.map(onlyLocal) : visible, query)
    const ms = asking.budgetMs ?? budgetMs
    const next = (): Promise<MergedItem[]> => {
      const late = new SourceError('timeout', `nothing more within the budget of ${ms} ms`)
      return withDeadline({ ms, late, caller: signal }, (deadline) =>
        walk.next(Number.POSITIVE_INFINITY, deadline),
      )
    }
    const first = await next()
    const { outcomes } = walk
    const described = describeOutcomes(outcomes, new Map())
    refuseUnusable({ ...described, outcomes, total: first.length }, asking)
    return { outcomes, lines: renderLines(walk, first, next, query.explain) }
  }

async function* renderLines(
  walk: Walk,
  first: readonly MergedItem[],
  next: () => Promise<MergedItem[]>,
  explain = false,
): AsyncGenerator<Buffer> {
  const returned = new Map<string, number>()
  for (let items = first; items.length > 0; items = await next()) {
    countReturned(items, returned)
    yield* renderChunks(items)
  }
  const { complete, sources } = describeOutcomes(walk.outcomes, returned, explain)
  yield Buffer.from(`${JSON.stringify({ _meta: { complete, sources } })}\n`)
}

function* renderChunks(items: readonly MergedItem[]): Generator<Buffer> {
  let chunk: Uint8Array[] = []
  let size = 0
  for (const merged of items) {
    const line = onOneLine(renderItem(merged))
    chunk.push(line, LINE_END)
    size += line.length
    if (size < CHUNK_BYTES) continue
    yield Buffer.concat(chunk)
    chunk = []
    size = 0
  }
  if (chunk.length > 0) yield Buffer.concat(chunk)
}

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const LINE_END = Buffer.from([LINE_FEED])

/** Inside a JSON string a line cannot end, so where one does it stands between tokens and means nothing. */
const onOneLine = (row: Buffer): Uint8Array =>
  row.includes(LINE_FEED) || row.includes(CARRIAGE_RETURN)
    ? row.filter((byte) => byte !== LINE_FEED && byte !== CARRIAGE_RETURN)
    : row
