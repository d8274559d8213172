import type { Reader } from '../domain/api-key.ts'
import type { Clock } from '../domain/clock.ts'
import { withDeadline } from '../domain/deadline.ts'
import type { ListingQuery } from '../domain/query.ts'
import type { NamedSource } from '../domain/reading.ts'
import { SourceError } from '../domain/source-error.ts'
import { endOfMs } from '../domain/timestamp.ts'
import { renderItem } from './envelope.ts'
import { MergedSequence } from './merge.ts'
import type { MergedItem } from './merged-item.ts'
import { assertAnswerable, countReturned, reportOutcomes } from './source-report.ts'
import { type MergeOptions, type Outcome, skipAsLoop, visibleSources } from './sources.ts'

const CHUNK_BYTES = 64 * 1024

type StreamOptions = { sources: readonly NamedSource[]; budgetMs: number; clock: Clock }

type MergedStream = { outcomes: readonly Outcome[]; lines: AsyncGenerator<Buffer> }

export type StreamListings = (
  query: ListingQuery,
  asking: { reader: Reader; signal: AbortSignal; options?: MergeOptions },
) => Promise<MergedStream>

/**
 * Reads while sending. A source that exceeds the budget in one round has failed. Rejects as a page does for
 * failures before the first line.
 */
export function createStreamListings({ sources, budgetMs, clock }: StreamOptions): StreamListings {
  return async (query, { reader, signal: caller, options = {} }) => {
    const visible = visibleSources(sources, reader, options.named)
    const asked = options.isLoop ? visible.map(skipAsLoop) : visible
    const sequence = new MergedSequence(asked, query, { cap: endOfMs(clock.now()) })
    const ms = options.budgetMs ?? budgetMs
    const next = (): Promise<MergedItem[]> => {
      const late = () => new SourceError('timeout', `no answer within the budget of ${ms} ms`)
      return withDeadline({ ms, late, caller }, (signal) => sequence.takeRound(signal))
    }
    const first = await next()
    const { outcomes } = sequence
    const described = reportOutcomes(outcomes, new Map(), clock.now())
    assertAnswerable({ ...described, outcomes, total: first.length }, options)
    return { outcomes, lines: renderLines({ sequence, first, next, clock, explain: query.explain }) }
  }
}

type LinesOptions = {
  sequence: MergedSequence
  first: readonly MergedItem[]
  next: () => Promise<MergedItem[]>
  clock: Clock
  explain: boolean | undefined
}

async function* renderLines({ sequence, first, next, clock, explain }: LinesOptions): AsyncGenerator<Buffer> {
  const returned = new Map<string, number>()
  for (let items = first; items.length > 0; items = await next()) {
    countReturned(items, returned)
    yield* renderChunks(items)
  }
  const { complete, sources } = reportOutcomes(sequence.outcomes, returned, clock.now(), explain)
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

/** JSON strings have no raw line breaks: those in a row are whitespace. */
function onOneLine(row: Buffer): Uint8Array {
  return row.includes(LINE_FEED) || row.includes(CARRIAGE_RETURN)
    ? row.filter((byte) => byte !== LINE_FEED && byte !== CARRIAGE_RETURN)
    : row
}
