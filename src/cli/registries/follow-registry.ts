import { setTimeout as pause } from 'node:timers/promises'
import { type Ask, type Change, followChanges } from '../../client/follow-changes.ts'
import { ProblemError, readProblem } from '../../client/problem-error.ts'
import { listingKey } from '../../domain/listing-identity.ts'
import type { Sort } from '../../domain/price/price-parameters.ts'
import { parseRetryAfter } from '../../domain/retry-after.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { Market } from '../../gateway/market.ts'
import type { MarketQuery } from '../../gateway/market-query.ts'
import type { MergedItem } from '../../gateway/pages/merged-item.ts'
import type { MergedPage } from '../../gateway/pages/page.ts'
import { renderItem } from '../../gateway/pages/render.ts'
import { type JsonObject, parseObject } from '../../json/value.ts'
import { describeMissing, describeReason } from '../../wire/describe-missing.ts'
import { COMMAND, settle } from './buyer-market.ts'
import { endpointUrl, type RegistryClient, readJson } from './registry-client.ts'
import type { Registry } from './select-registries.ts'

type Followed = {
  client: RegistryClient
  registry: Registry
  /** Per request. */
  timeoutMs: number
  /** Of this Registry alone. */
  market: Market
  /** Called with what has happened to the following itself. */
  onNote: (note: string) => void
}

/**
 * Changes of one Registry: by its feed, or where it has none by a reading each minute.
 * @throws ProblemError for a request that is refused
 */
export async function* followRegistry(
  followed: Followed,
  query: MarketQuery,
  search: string,
): AsyncGenerator<Change<JsonObject>, void> {
  const { onNote } = followed
  const noteTrouble = troubleNotes(onNote)
  const onRetry = ({ detail }: ProblemError, afterMs: number): void =>
    noteTrouble(`${detail} Trying again in ${Math.ceil(afterMs / 1000)} s.`)
  const ask: Ask = async (...asked) => {
    const answer = await askThrough(followed)(...asked)
    noteTrouble('')
    return answer
  }
  try {
    yield* followChanges<JsonObject>(ask, search, { onRetry })
  } catch (failure) {
    if (!(failure instanceof ProblemError) || failure.status !== 404) throw failure
    onNote(`It has no GET /changes, so its listings are read every ${POLL_SECONDS} s.`)
    yield* pollListings(followed, query)
  }
}

const askThrough =
  ({ client, registry, timeoutMs }: Followed): Ask =>
  async (path, waitSeconds = 0) => {
    const request = { url: endpointUrl(registry, `/${path}`), key: registry.key, registry, timeoutMs }
    const answer = await client
      .send({ method: 'GET', ...request, waitSeconds })
      .catch((failure: unknown): never => {
        if (failure instanceof SourceError)
          throw new ProblemError(0, { detail: `It ${describeReason(failure.reason)} (${failure.reason}).` })
        throw failure
      })
    if (answer.status === 200) return readJson(answer)
    const retryAfterMs = parseRetryAfter(answer.headers['retry-after'] ?? null, Date.now())
    const retryAfter = retryAfterMs === null ? null : Math.ceil(retryAfterMs / 1000)
    throw new ProblemError(answer.status, { ...readProblem(answer.body), retryAfter })
  }

const POLL_SECONDS = 60

/** The first reading gives no changes. An incomplete one removes nothing. */
async function* pollListings(
  { market, onNote }: Followed,
  query: MarketQuery,
): AsyncGenerator<Change<JsonObject>, void> {
  let before: Map<string, MergedItem> | null = null
  const noteTrouble = troubleNotes(onNote)
  for (;;) {
    const { answer: page, reports } = await settle(readMatches(market, query))
    const missing = reports.flatMap((report) => describeMissing(report) ?? []).join('; ')
    noteTrouble(missing && `${missing}; it is asked every ${POLL_SECONDS} s.`)
    if (page !== null) {
      const now = new Map(page.items.map((merged) => [keyOf(merged), merged]))
      if (before !== null) yield* changesBetween(before, now, page.complete)
      before = page.complete ? now : new Map([...(before ?? []), ...now])
    }
    await pause(POLL_SECONDS * 1000)
  }
}

/** Notes a trouble once, and its end, which is an empty text. */
function troubleNotes(onNote: Followed['onNote']): (trouble: string) => void {
  let before = ''
  return (trouble) => {
    if (trouble !== before) onNote(trouble || 'It answers again.')
    before = trouble
  }
}

/** All listings that match. An order by price marks outliers, and a Registry may be too large for it. */
export function readMatches(market: Market, query: MarketQuery): Promise<MergedPage> {
  const read = (sort: Sort) => {
    const paging = { limit: Number.MAX_SAFE_INTEGER, offset: 0, suggests: false }
    return market.page({ ...query, prices: { ...query.prices, sort }, ...paging }, COMMAND)
  }
  return read('price').catch(() => read('newest'))
}

function* changesBetween(
  before: ReadonlyMap<string, MergedItem>,
  now: ReadonlyMap<string, MergedItem>,
  isWhole: boolean,
): Generator<Change<JsonObject>> {
  const about = (key: string, { item }: MergedItem) =>
    ({ key, listing_id: item.listingId, publisher: item.publisher, position: '' }) as const
  for (const [key, merged] of now)
    if (before.get(key) === undefined || Buffer.compare(before.get(key)!.bytes, merged.bytes) !== 0)
      yield { type: 'listing', ...about(key, merged), listing: parseObject(renderItem(merged).toString()) }
  if (!isWhole) return
  for (const [key, merged] of before) if (!now.has(key)) yield { type: 'removed', ...about(key, merged) }
}

const keyOf = ({ item, registry }: MergedItem): string => listingKey(item.listingId, item, registry)
