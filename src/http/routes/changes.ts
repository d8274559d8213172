import { Readable } from 'node:stream'
import type { Clock } from '../../domain/clock.ts'
import type { Change } from '../../gateway/changes/change-of.ts'
import type { Changes, Following } from '../../gateway/changes/market-changes.ts'
import type { MergedItem } from '../../gateway/pages/merged-item.ts'
import { renderItem } from '../../gateway/pages/render.ts'
import { sourceMembers } from '../../gateway/source-report.ts'
import { changesSchema } from '../../wire/change.ts'
import { prefersToJson } from '../middleware/accept.ts'
import {
  IF_MATCH,
  marketRequestOf,
  PRICE_MAX,
  PRICE_PER,
  PRICE_TOKEN,
  PUBLISHER,
  readIntegerParameter,
  readMarketQuery,
  readNames,
  readQueryParameters,
  SOURCES,
  STATUS,
  TESTNET,
  withFilters,
} from '../parameters.ts'
import {
  type HandlerResponse,
  integerParameter,
  NO_STORE,
  parameter,
  type RequestContext,
  type Route,
} from '../route.ts'
import type { Watchers } from '../watchers.ts'
import { type Gateway, plainRow, pricedRow } from './listings.ts'
import { streamChanges, type WatchOptions, waitForChanges } from './watch.ts'

const DEFAULT_LIMIT = 200

const SINCE = parameter(
  'query',
  'since',
  'The position of an earlier answer, or the `Changes-Position` of a reading of `GET /listings` with the same query; ' +
    'default: now',
)
const LIMIT = integerParameter('query', 'limit', 'Most changes in one answer', {
  minimum: 1,
  maximum: 1000,
  default: DEFAULT_LIMIT,
})
const PREFER = parameter(
  'header',
  'Prefer',
  '`wait=30` waits so many seconds, from 1 to 60, until there is a change',
)
const LAST_EVENT_ID = parameter('header', 'Last-Event-ID', 'Of a stream: the position, in place of `since`')
const PARAMETERS = [SINCE, LIMIT, STATUS, PUBLISHER, PRICE_TOKEN, PRICE_MAX, PRICE_PER, TESTNET, SOURCES]

/** What waits and streams need of their configuration. */
export type Watching = {
  watchers: Watchers
  /** Whether the credential of the request still opens what it saw. */
  maySee: (request: Pick<RequestContext, 'header' | 'reader'>) => boolean
  clock: Clock
  random: () => number
}

/** @param isPlain whether listings are sent as published, without `_meta` */
export const changeRoutes = (
  gateway: Gateway,
  isPlain: boolean,
  watching: Watching,
  { all, isParameter } = withFilters(PARAMETERS, gateway),
): Route[] => [
  {
    method: 'GET',
    path: '/changes',
    gate: 'read',
    summary: 'What has changed in the answer to a query',
    description:
      'Listings as they are now, and the keys of those that the answer has no longer: a reader that keeps a map from `key` to ' +
      'listing, and applies changes in order, has what `GET /listings` answers to the same query. Every other query parameter is a ' +
      'filter of the filter spec. A position is good at every replica, for a query and for what its reader may see. ' +
      '`Prefer: wait=30` waits for a change. `Accept: text/event-stream` streams: one event a change, whose `id` is the position ' +
      'behind it, and a comment with the `id` of then every 15 s.',
    parameters: [...all, IF_MATCH, PREFER, LAST_EVENT_ID],
    responses: {
      200: { description: 'Changes behind the position', schema: changesSchema, alsoAs: EVENTS_TYPE },
    },
    problems: [400, 410, 412, 422, 508],
    handle: async (request) => {
      const isStream = prefersToJson(EVENTS_TYPE, request.listHeader('accept'))
      const limit = readIntegerParameter(LIMIT, request.query.limit) ?? DEFAULT_LIMIT
      const waitSeconds = isStream ? null : readWait(request.listHeader('prefer'))
      const rowOf = rowsOf(request, isPlain)
      const following = await follow(gateway, request, isParameter, isStream)
      if (!isStream && waitSeconds === null)
        return answer(await following.read(following.position, limit), following, rowOf)
      const options = { following, ...openWatch(watching, request) }
      if (waitSeconds !== null) {
        const waited = answer(await waitForChanges(options, limit, waitSeconds * 1000), following, rowOf)
        const headers = { ...waited.headers, 'Preference-Applied': `wait=${waitSeconds}` }
        return { ...waited, headers, isWatch: true }
      }
      const events = streamChanges(options, (change) => renderChange(change, rowOf), watching.random)
      const body = Readable.from(events, { objectMode: false })
      // Also of a stream that is never read.
      body.once('close', options.watcher.close)
      return { type: EVENTS_TYPE, body, headers: STREAM_HEADERS, isWatch: true }
    },
  },
]

const EVENTS_TYPE = 'text/event-stream'
/** Proxies neither buffer nor change a stream. */
const STREAM_HEADERS = {
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
  Vary: 'Accept',
}
const MAX_WAIT_SECONDS = 60

/** `wait` of `Prefer` (RFC 7240 section 4.3) in seconds, from 1 to 60; `null` without it. */
function readWait(prefer: string | undefined): number | null {
  const [, seconds] = /(?:^|[,;])\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:[,;]|$)/i.exec(prefer ?? '') ?? []
  return seconds === undefined ? null : Math.min(Math.max(Number(seconds), 1), MAX_WAIT_SECONDS)
}

function openWatch(
  { watchers, maySee, clock }: Watching,
  request: RequestContext,
): Omit<WatchOptions, 'following'> {
  const { caller, client, reader, signal } = request
  const subject = caller.kind === 'key' ? `key:${caller.key.id}` : `address:${client}`
  const watcher = watchers.open(subject, reader.limits.maxWatchers, {
    isAnonymous: caller.kind === 'anonymous',
  })
  return { watcher, signal, maySee: () => maySee(request), clock }
}

async function follow(
  { market }: Gateway,
  context: RequestContext,
  isParameter: ReturnType<typeof withFilters>['isParameter'],
  isStream: boolean,
): Promise<Following> {
  const parameters = readQueryParameters(context.queryString, isParameter)
  const request = marketRequestOf(context)
  const query = await readMarketQuery(
    market,
    { ...parameters, named: readNames(parameters.texts.sources) },
    request,
  )
  const since = (isStream ? context.header('last-event-id') : undefined) || parameters.texts.since
  return market.changes(query, since ?? null, request)
}

function answer(
  { changes, position, hasMore }: Changes,
  following: Following,
  rowOf: RowOf,
): HandlerResponse {
  const { complete, ...sources } = following.sources()
  const rest = JSON.stringify({ position, more: hasMore, complete, ...sourceMembers(sources) }).slice(1)
  const rows = changes.flatMap((change, n) => [n === 0 ? OPEN : COMMA, renderChange(change, rowOf)])
  const body = Buffer.concat([...(rows.length === 0 ? [OPEN] : rows), Buffer.from(`],${rest}`)])
  return { body, headers: NO_STORE }
}

const OPEN = Buffer.from('{"changes":[')
const COMMA = Buffer.from(',')

function renderChange(change: Change, rowOf: RowOf): Buffer {
  const { kind: type, key, listingId: listing_id, publisher } = change
  const about = { type, key, listing_id, publisher }
  if (change.kind === 'removed') {
    const { unchecked } = change
    return Buffer.from(JSON.stringify({ ...about, ...(unchecked.length > 0 && { unchecked }) }))
  }
  return Buffer.concat([
    Buffer.from(`${JSON.stringify(about).slice(0, -1)},"listing":`),
    rowOf(change.merged),
    CLOSE,
  ])
}

const CLOSE = Buffer.from('}')

type RowOf = (merged: MergedItem) => Uint8Array

/** As `GET /listings` sends them: of a plain Registry without `_meta`, but for prices that were compared. */
function rowsOf({ query }: RequestContext, isPlain: boolean): RowOf {
  if (!isPlain) return renderItem
  return query.price_max ? pricedRow : plainRow
}
