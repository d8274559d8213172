import { SeenListings } from '../domain/listing-identity.ts'
import type { ListingQuery } from '../domain/query.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import { endOfMs } from '../domain/timestamp.ts'
import type { FilterSpec } from '../filter-spec/filter.ts'
import { decidersOf } from './deciders.ts'
import { renderItem } from './envelope.ts'
import { countUnplaced } from './hints.ts'
import type { CheckedQuery } from './market-query.ts'
import { ROUND } from './merge.ts'
import type { MergedItem } from './merged-item.ts'
import { boundsFor, describeItems, openSequence } from './sequence.ts'
import { assertAnswerable, countReturned, countUnchecked, reportOutcomes } from './source-report.ts'
import { type MergeRequest, type MergeSettings, type Outcome, visibleSources, withBudget } from './sources.ts'

const CHUNK_BYTES = 64 * 1024

export type ListingStream = {
  outcomes: readonly Outcome[]
  lines: AsyncGenerator<Buffer>
  /** Equal for streams of the same contents in this process; `null` where a source does not answer. */
  contents: string | null
}

/**
 * Reads while sending. A source that exceeds the budget in one round has failed. Rejects as a page does for
 * failures before the first line.
 */
export async function streamListings(
  settings: MergeSettings,
  {
    query,
    spec,
    warnings,
  }: Pick<CheckedQuery, 'query'> &
    Partial<Pick<CheckedQuery, 'warnings'>> & { spec: Pick<FilterSpec, 'filters'> },
  request: MergeRequest,
): Promise<ListingStream> {
  const { sources, holdings, clock } = settings
  const { byPrice, budgetMs: ms = settings.budgetMs } = request
  const visible = visibleSources(sources, request)
  const versions = versionsOf(visible, query)
  const rules = rulesOf(visible)
  const cap = endOfMs(clock.now())
  const sequence = openSequence(visible, query, {
    by: byPrice,
    cap,
    openDeciders: decidersOf(holdings),
    reader: request.reader,
    settings,
  })
  // A listing whose price rises meanwhile would come again.
  const sent = byPrice && new SeenListings()
  // Each reading of a source has the whole budget: what was merged before it is sent first.
  const next = () => withBudget(ms, request.signal, (signal) => sequence.take(ROUND, signal, 1))
  const first = await next()
  const { outcomes, ...reports } = reportOutcomes(sequence.outcomes, new Map(), settings)
  assertAnswerable({ ...reports, outcomes, total: first.length }, request)
  const bounds = await boundsFor(sequence, settings, request.reader)
  const states = reports.sources.map(({ age_seconds, elapsed_ms, ...state }) => state)
  const isSame = versions !== null && versionsOf(visible, query) === versions
  const contents = isSame ? JSON.stringify([versions, bounds.id, states, query.via]) : null
  return { outcomes, lines: renderLines(), contents }

  async function* renderLines(): AsyncGenerator<Buffer> {
    const returned = new Map<string, number>()
    let unchecked = 0
    const count = (merged: MergedItem): MergedItem => {
      unchecked += countUnchecked([merged])
      countReturned([merged], returned)
      return merged
    }
    for (let batch = first; batch.length > 0; batch = await next()) {
      const items = sent ? batch.filter(({ item }) => sent.add(item.listingId, item)) : batch
      const described = describeItems(items, sequence, query, { ...settings, bounds })
      yield* renderChunks(described.values().filter(isStillShown).map(count))
    }
    const end = reportOutcomes(sequence.outcomes, returned, settings)
    const unplaced = await countUnplaced(settings, { query, spec }, request)
    const rules_changed = rulesOf(visible) !== rules || undefined
    const _meta = {
      ...end,
      outcomes: undefined,
      unchecked: unchecked || undefined,
      unplaced,
      warnings,
      rules_changed,
    }
    yield Buffer.from(`${JSON.stringify({ _meta })}\n`)
  }

  // A block may have begun since the batch was read.
  function isStillShown({ item, registry }: MergedItem): boolean {
    return !visible.some(({ name, rules }) => name === registry && rules?.denies(item) === true)
  }
}

/** `null` where a source does not answer. */
function versionsOf(sources: readonly NamedSource[], query: ListingQuery): string | null {
  const versions = sources.map(({ held }) => (held.failure(query) === null ? held.version?.() : undefined))
  return versions.includes(undefined) ? null : versions.join()
}

/** Differs where the rules of one of them do. */
const rulesOf = (sources: readonly NamedSource[]): string =>
  sources.map(({ rules }) => rules?.version() ?? '').join()

function* renderChunks(items: Iterable<MergedItem>): Generator<Buffer> {
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
