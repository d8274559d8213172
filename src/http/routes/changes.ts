import type { Change, Changes, Following } from '../../gateway/changes/market-changes.ts'
import { renderItem } from '../../gateway/envelope.ts'
import type { MergedItem } from '../../gateway/merged-item.ts'
import { changesSchema } from '../../wire/change.ts'
import {
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
import { type Gateway, plainRow, pricedRow } from './listings.ts'

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
const PARAMETERS = [SINCE, LIMIT, STATUS, PUBLISHER, PRICE_TOKEN, PRICE_MAX, PRICE_PER, TESTNET, SOURCES]

/** @param isPlain whether listings are sent as published, without `_meta` */
export const changeRoutes = (
  gateway: Gateway,
  isPlain: boolean,
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
      'filter of the filter spec. A position is good at every replica, for a query and for what its reader may see.',
    parameters: all,
    responses: { 200: { description: 'Changes behind the position', schema: changesSchema } },
    problems: [400, 410, 422],
    handle: async (request) => {
      const limit = readIntegerParameter(LIMIT, request.query.limit) ?? DEFAULT_LIMIT
      const following = await follow(gateway, request, isParameter)
      const changes = await following.read(following.position, limit, request.signal)
      return answer(changes, following, rowsOf(request, isPlain))
    },
  },
]

async function follow(
  { market }: Gateway,
  context: RequestContext,
  isParameter: ReturnType<typeof withFilters>['isParameter'],
): Promise<Following> {
  const parameters = readQueryParameters(context.queryString, isParameter)
  const request = marketRequestOf(context)
  const query = await readMarketQuery(
    market,
    { ...parameters, named: readNames(parameters.texts.sources) },
    request,
  )
  return market.changes(query, parameters.texts.since ?? null, request)
}

function answer(
  { changes, position, hasMore }: Changes,
  following: Following,
  rowOf: RowOf,
): HandlerResponse {
  const { complete, sources } = following.sources()
  const rest = JSON.stringify({ position, more: hasMore, complete, sources }).slice(1)
  const rows = changes.flatMap((change, n) => [n === 0 ? OPEN : COMMA, renderChange(change, rowOf)])
  const body = Buffer.concat([...(rows.length === 0 ? [OPEN] : rows), Buffer.from(`],${rest}`)])
  return { body, headers: NO_STORE }
}

const OPEN = Buffer.from('{"changes":[')
const COMMA = Buffer.from(',')

function renderChange(change: Change, rowOf: RowOf): Buffer {
  const { kind: type, key, listingId: listing_id, publisher } = change
  const about = JSON.stringify({ type, key, listing_id, publisher })
  if (change.kind === 'removed') return Buffer.from(about)
  return Buffer.concat([Buffer.from(`${about.slice(0, -1)},"listing":`), rowOf(change.merged), CLOSE])
}

const CLOSE = Buffer.from('}')

type RowOf = (merged: MergedItem) => Uint8Array

/** As `GET /listings` sends them: of a plain Registry without `_meta`, but for prices that were compared. */
function rowsOf({ query }: RequestContext, isPlain: boolean): RowOf {
  if (!isPlain) return renderItem
  return query.price_max ? pricedRow : plainRow
}
