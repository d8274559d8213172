import { SeenListings } from '../../domain/listing-identity.ts'
import { ask, matchesOf, outcomesOf, versionOf } from '../ask.ts'
import type { Outcome } from '../asking.ts'
import { countUnplaced } from '../counts/hints.ts'
import type { CheckedQuery, Question } from '../market-query.ts'
import type { MarketSettings } from '../market-settings.ts'
import {
  assertAnswerable,
  countReturned,
  countUnchecked,
  reportOutcomes,
  sourceMembers,
} from '../source-report.ts'
import type { ResumePoint } from './cursor.ts'
import { type MergedItem, mergeCopies } from './merged-item.ts'
import { openOrder } from './order.ts'
import { renderItem } from './render.ts'

const CHUNK_BYTES = 64 * 1024
/** Listings that are read in one turn. */
const ROUND = 200

export type ListingStream = {
  outcomes: readonly Outcome[]
  lines: AsyncGenerator<Buffer>
  /** Equal for streams of the same contents in this process; `null` where something has changed meanwhile. */
  contents: string | null
}

/** Reads while sending. Rejects as a page does for failures before the first line. */
export async function streamListings(
  settings: MarketSettings,
  question: Question & Partial<Pick<CheckedQuery, 'warnings'>>,
): Promise<ListingStream> {
  const { rules } = settings
  const { query, request, warnings } = question
  const asked = await ask(settings, question)
  const names = asked.answers.map(({ source }) => source.name)
  const rulesBefore = rules.versionOf(names)
  const matches = await matchesOf(settings, asked)
  const order = await openOrder(settings, asked, matches, request)
  // A listing whose price rises meanwhile would come again, and one of which a better source gets a copy.
  const sent = request.byPrice !== undefined || asked.unknown.length > 0 ? new SeenListings() : null
  const report = (returned?: ReadonlyMap<string, number>) =>
    reportOutcomes(outcomesOf(asked, matches), settings, returned)
  const { outcomes, ...reports } = report()
  assertAnswerable({ ...reports, outcomes, total: matches.total }, request)
  const states = reports.sources.map(({ age_seconds, elapsed_ms, ...state }) => state)
  const isSame = versionOf(settings, asked.scope.sources) === asked.version
  const counted = reports.sourcesCounted?.loaded
  const contents = isSame
    ? JSON.stringify([asked.version, order.bounds.id, states, counted, query.via])
    : null
  return { outcomes, lines: renderLines(), contents }

  async function* renderLines(): AsyncGenerator<Buffer> {
    const returned = new Map<string, number>()
    let unchecked = 0
    const count = (item: MergedItem): MergedItem => {
      unchecked += countUnchecked([item])
      countReturned([item], returned)
      return item
    }
    let point: ResumePoint | null = null
    for (;;) {
      const visits = order.take(point, 0, ROUND)
      const last = visits.at(-1)
      if (last === undefined) break
      point = last.point()
      const items = mergeCopies(
        settings,
        asked,
        visits.map(({ copy }) => copy),
        order,
      )
      const fresh = sent ? items.filter(({ item }) => sent.add(item.listingId, item)) : items
      yield* renderChunks(fresh.values().filter(isStillShown).map(count))
    }
    const { complete, ...end } = report(returned)
    const unplaced = await countUnplaced(settings, question)
    const rules_changed = rules.versionOf(names) !== rulesBefore || undefined
    const _meta = {
      complete,
      ...sourceMembers(end),
      unchecked: unchecked || undefined,
      unplaced,
      warnings,
      rules_changed,
    }
    yield Buffer.from(`${JSON.stringify({ _meta })}\n`)
  }

  // A block may have begun since these were taken.
  function isStillShown({ item, registry }: MergedItem): boolean {
    return rules.of(registry)?.denies(item) !== true
  }
}

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
