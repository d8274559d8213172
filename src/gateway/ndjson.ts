import { SeenListings } from '../domain/listing-identity.ts'
import type { TokenTable } from '../domain/price/token.ts'
import type { ListingQuery } from '../domain/query.ts'
import { endOfMs } from '../domain/timestamp.ts'
import { renderItem } from './envelope.ts'
import { ROUND } from './merge.ts'
import type { MergedItem } from './merged-item.ts'
import { openSequence, withPrices } from './sequence.ts'
import { assertAnswerable, countReturned, reportOutcomes } from './source-report.ts'
import { type MergeRequest, type MergeSettings, type Outcome, visibleSources, withBudget } from './sources.ts'

const CHUNK_BYTES = 64 * 1024

export type StreamListings = (
  query: ListingQuery,
  request: MergeRequest,
) => Promise<{ outcomes: readonly Outcome[]; lines: AsyncGenerator<Buffer> }>

/**
 * Reads while sending. A source that exceeds the budget in one round has failed. Rejects as a page does for
 * failures before the first line.
 */
export function createStreamListings({
  sources,
  budgetMs,
  clock,
  tokens,
}: MergeSettings & { tokens: TokenTable }): StreamListings {
  return async (query, { reader, signal: caller, options = {} }) => {
    const visible = visibleSources(sources, reader, options)
    const sequence = openSequence(visible, query, { by: options.byPrice, cap: endOfMs(clock.now()) })
    // Each reading of a source has the whole budget: what was merged before it is sent first.
    const next = () =>
      withBudget(options.budgetMs ?? budgetMs, caller, (signal) => sequence.take(ROUND, signal, 1))
    // A listing whose price rises meanwhile would come again.
    const seen = options.byPrice && new SeenListings()
    const first = await next()
    const reports = reportOutcomes(sequence.outcomes, new Map(), clock.now())
    assertAnswerable({ ...reports, total: first.length }, options)
    return { outcomes: reports.outcomes, lines: renderLines() }

    async function* renderLines(): AsyncGenerator<Buffer> {
      const returned = new Map<string, number>()
      for (let taken = first; taken.length > 0; taken = await next()) {
        const items = seen ? taken.filter(({ item }) => seen.add(item.listingId, item)) : taken
        countReturned(items, returned)
        yield* renderChunks(withPrices(items, sequence, query, tokens))
      }
      const reports = reportOutcomes(sequence.outcomes, returned, clock.now(), query.explain)
      const _meta = { ...reports, outcomes: undefined }
      yield Buffer.from(`${JSON.stringify({ _meta })}\n`)
    }
  }
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

/** JSON strings have no raw line breaks: those in a row are whitespace. */
function onOneLine(row: Buffer): Uint8Array {
  return row.includes(LINE_FEED) || row.includes(CARRIAGE_RETURN)
    ? row.filter((byte) => byte !== LINE_FEED && byte !== CARRIAGE_RETURN)
    : row
}
