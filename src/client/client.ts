import type { ListingStatus } from '../domain/listing.ts'
import type { PricePer } from '../domain/price/price-key.ts'
import type { Sort } from '../domain/price/price-parameters.ts'
import { at, isJsonObject, type JsonValue } from '../json/value.ts'
import type { FacetsJson } from '../wire/facets.ts'
import type { FilterSpecJson } from '../wire/filter-spec.ts'
import type { PublishReceiptJson, UpdateReceiptJson } from '../wire/listing.ts'
import type { SourceReport, SourcesCounted } from '../wire/source.ts'
import { type Ask, type FollowOptions, followChanges } from './follow-changes.ts'
import type { Listing, ListingDraft } from './listing.ts'
import { walkPages } from './page-walk.ts'
import { IncompleteError, ProblemError, readReports } from './problem-error.ts'
import {
  type CallOptions,
  type Connection,
  type ConnectOptions,
  connect,
  type RawAnswer,
  type RequestOptions,
  type Signer,
  sendRequest,
} from './request.ts'
import {
  deleteWrite,
  type ListingChanges,
  type ListingWrite,
  listingPath,
  notReceipt,
  nowSeconds,
  publishWrite,
  updateWrite,
} from './signed-write.ts'

export type { SourceReport, SourcesCounted } from '../wire/source.ts'
export type { Change, FollowOptions } from './follow-changes.ts'
export type { ApiCredits, Escrow, GpuMachine, Listing, ListingDraft, SettlementOption } from './listing.ts'
export { IncompleteError, ProblemError } from './problem-error.ts'
export type { CallOptions, ConnectOptions, Pin, RequestSigner, Signer } from './request.ts'
export type { ListingChanges } from './signed-write.ts'

/** Filters and parameters of `GET /listings` (docs/contract.md#3-merged-answers), without paging. Any filter's name is one. */
type ListingsQuery = {
  [parameter: string]: string | number | boolean | undefined
  sort?: Sort | undefined
  /** Default: `open`; empty for all. */
  status?: ListingStatus | '' | undefined
  price_per?: PricePer | undefined
  testnet?: boolean | undefined
  limit?: never
  offset?: never
  cursor?: never
}

type ListingPage<L> = {
  /** Without those of earlier pages. */
  items: L[]
  /** Matches before paging. */
  total: number
  /** Whether every source answered; at a plain Registry, whether the page follows the previous one without a gap. */
  complete: boolean
  /** How each source answered; empty at a plain Registry. */
  sources: readonly SourceReport[]
  /** Of many sources, those that `sources` does not name: all of them have answered. */
  sourcesCounted?: SourcesCounted | undefined
}

const MAX_SECONDS_AHEAD = 3

/**
 * A client of one gateway or Registry. Calls reject with a `ProblemError`, or the reason of their signal.
 * @throws TypeError for a URL or a key that cannot be sent
 */
export function createClient(options: ConnectOptions) {
  const connection = connect(options)
  const contentSigner = (): Signer | null => {
    const { line, account } = connection
    if (line === null && account === null)
      throw new TypeError('createClient: give an account, which signs writes')
    return account
  }

  function pages<L = Listing>(query: ListingsQuery = {}, call: CallOptions = {}) {
    return readPages<L>(connection, query, call)
  }

  return {
    /** Pages of all matches, each requested when it is wanted. */
    pages,

    /** All matches, each once. @throws IncompleteError after the last one, if a page is not complete */
    async *listings<L = Listing>(query: ListingsQuery = {}, call: CallOptions = {}): AsyncGenerator<L, void> {
      let missing: readonly SourceReport[] | null = null
      for await (const { items, complete, sources } of pages<L>(query, call)) {
        yield* items
        if (!complete) missing ??= sources
      }
      if (missing !== null) throw new IncompleteError(missing)
    },

    /** Of any status. `complete` is false if a source did not answer that may have a better copy. */
    async listing<L = Listing>(id: string, { registry, ...call }: CallOptions & { registry?: string } = {}) {
      const path = pathOf(listingPath(id), { registry })
      const body = await readJson<{ listing: L; complete?: boolean }>(connection, path, call, 'listing')
      return {
        listing: body.listing,
        complete: body.complete !== false,
        sources: readReports(body as JsonValue),
      }
    },

    /**
     * Changes of what `listings` gives for the same query, without an end: a map from `key` to listing that applies them in order is
     * the whole answer. `deadlineMs` is for each request without its wait.
     * @throws ProblemError for a request that is refused; the reason of `signal`
     */
    changes: <L = Listing>(
      query: ListingsQuery = {},
      { deadlineMs, ...options }: FollowOptions & CallOptions = {},
    ) =>
      followChanges<L>(askWith(connection, { deadlineMs, signal: options.signal }), searchOf(query), options),

    /** Counts per value of the filters in `by`, with commas between, and prices. */
    facets: (query: ListingsQuery & { by?: string } = {}, call: CallOptions = {}) =>
      readJson<FacetsJson>(connection, pathOf('facets', query), call, 'facets'),

    filterSpec: (call: CallOptions = {}) => readJson<FilterSpecJson>(connection, 'filter-spec', call),

    /** Writes are signed by the `account` or the `signer` of the client. @throws TypeError if it has neither */
    publish: async <Offer>(listing: ListingDraft<Offer>, call: CallOptions = {}) =>
      sendWrite<PublishReceiptJson>(
        connection,
        publishWrite(contentSigner(), listing.listing_id, JSON.stringify(listing)),
        call,
      ),

    update: async (id: string, changes: ListingChanges, call: CallOptions = {}) =>
      sendWrite<UpdateReceiptJson>(connection, updateWrite(contentSigner(), id, changes), call),

    delete: async (id: string, call: CallOptions = {}) =>
      sendWrite<void>(connection, deleteWrite(contentSigner(), id), call),
  }
}

async function readJson<Json>(
  connection: Connection,
  path: string,
  call: RequestOptions,
  member?: string,
): Promise<Json> {
  const answer = await sendRequest(connection, path, call)
  const body = parseBody(answer)
  if (isJsonObject(member === undefined ? body : at(body, member))) return body as Json
  throw new ProblemError(answer.status, { detail: notReceipt(answer, { expected: 'a JSON object' }) })
}

function askWith(connection: Connection, { signal, deadlineMs = connection.deadlineMs }: CallOptions): Ask {
  return (path, waitSeconds = 0) =>
    readJson(connection, path, { signal, waitSeconds, deadlineMs: deadlineMs + waitSeconds * 1000 })
}

async function* readPages<L>(
  connection: Connection,
  query: ListingsQuery,
  call: CallOptions,
): AsyncGenerator<ListingPage<L>, void> {
  const ask = (path: string) => readJson<JsonValue>(connection, path, call)
  for await (const { items, page } of walkPages(ask, searchOf(query))) {
    const { total, isComplete, sources, sourcesCounted } = page
    yield {
      items: items as L[],
      total,
      complete: isComplete,
      sources: sources ?? [],
      sourcesCounted,
    }
  }
}

async function sendWrite<Json>(
  connection: Connection,
  listing: ListingWrite,
  call: CallOptions,
): Promise<Json> {
  for (let ahead = 0; ; ahead++) {
    const { method, path, body } = await listing.sign(nowSeconds() + ahead)
    try {
      const answer = await sendRequest(connection, path, { ...call, method, body })
      if (listing.isReceipt(answer)) return parseBody(answer) as Json
      throw new ProblemError(answer.status, { detail: notReceipt(answer, listing) })
    } catch (cause) {
      // The signature of a second is accepted for one change of a listing.
      const isUsed = cause instanceof ProblemError && cause.type === 'urn:entrepot:problem:signature_reused'
      if (!isUsed || ahead === MAX_SECONDS_AHEAD) throw cause
    }
  }
}

function pathOf(path: string, query: ListingsQuery): string {
  const search = searchOf(query)
  return search === '' ? path : `${path}?${search}`
}

function searchOf(query: ListingsQuery): string {
  const values = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  )
  return String(new URLSearchParams(values))
}

/** `null` for a body that is not JSON. Numbers are those of JavaScript. */
function parseBody({ body }: RawAnswer): JsonValue {
  try {
    return JSON.parse(new TextDecoder().decode(body))
  } catch {
    return null // an answer that is not a Registry's
  }
}
