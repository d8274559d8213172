import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { formatTimestamp, type Micros } from '../../../src/domain/timestamp.ts'
import { PATIENT } from '../../helpers/listen.ts'
import type { History, Publisher, Status, Terms, Version } from './history.ts'

/**
 * Which filters a Registry declares: those of the gateway, none (404), `gpu_count_min` alone, or `gpu_model` with
 * another meaning.
 */
export const SPEC_KINDS = ['same', 'none', 'partial', 'other'] as const
export type SpecKind = (typeof SPEC_KINDS)[number]

type ScriptOptions = {
  name: string
  history: History
  /** Ms since the Unix epoch. */
  now: () => number
  /** From 0 to 1. */
  random: () => number
  spec: SpecKind
  /** Listings that hide no other: too long for a gateway, and one that makes every page with it a 500. */
  odd: { oversized: number; isFailing: boolean }
  /** Whether it has `GET /publishers`. */
  hasPublishers: boolean
  /** Whether its dates are whole seconds, so that many listings are of one instant. */
  isCoarse: boolean
  /** By how much its clock is ahead. */
  skewMs: number
  /** Most items of a page, whatever `limit` is asked for. */
  pageSize: number
  /** Whether it copies listings of others, with changes. */
  isLiar: boolean
  /** Whether every listing is open, whatever is stated. */
  isAlwaysOpen?: boolean
}

export type OddKind = NonNullable<Version['odd']>
export type Stated = Pick<Version, 'listingId' | 'publisher' | 'terms' | 'status' | 'createdAt'> &
  Partial<Pick<Version, 'odd'>>
type Row = { version: Version; inserted: number; text: string }
/** What it leaves unanswered: all requests, or later pages than the first. */
export const OUTAGES = ['all', 'all', 'pages'] as const
type Outage = (typeof OUTAGES)[number]
/** Which listings one of its servers has. */
type IsServed = (version: Version) => boolean

/** Longer than a listing of a gateway may be. */
const OVERSIZED = 'x'.repeat(70_000)

/** A Registry of the deployed protocol in memory, behind a real HTTP server. */
export class ScriptedRegistry {
  readonly options: ScriptOptions
  /** May change at any time. */
  spec: SpecKind
  url = ''
  /** Closes connections without an answer. */
  outage: Outage | null = null
  requests = 0
  /** Called before a request for listings is answered. */
  onRequest: () => void = () => {}
  /** Newest first, ties in the order in which they were inserted. */
  readonly #rows: Row[] = []
  readonly #byId = new Map<string, Row>()
  readonly #publisherIds = new Map<string, { id: number; publisher: Publisher }>()
  readonly #servers: Server[] = []
  #inserted = 0

  constructor(options: ScriptOptions) {
    this.options = options
    this.spec = options.spec
  }

  get name(): string {
    return this.options.name
  }

  get isLiar(): boolean {
    return this.options.isLiar
  }

  get size(): number {
    return this.#rows.length
  }

  async listen(): Promise<void> {
    this.url = await this.serve(() => true)
  }

  /** Serves the listings that `isServed` keeps at a URL of their own: it never had the others. */
  async serve(isServed: IsServed): Promise<string> {
    const server = createServer(PATIENT, (request, response) =>
      this.#answer(request, isServed, response),
    ).listen(0, '127.0.0.1')
    this.#servers.push(server)
    await once(server, 'listening')
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    for (const server of this.#servers) {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    }
  }

  /** The listings of a status, newest first. */
  listings(status: Status | null = null): Version[] {
    return this.#rows.flatMap(({ version }) =>
      status === null || version.status === status ? [version] : [],
    )
  }

  get(listingId: string): Version | undefined {
    return this.#byId.get(listingId)?.version
  }

  /**
   * Publishes a listing, or replaces its terms: then it keeps its date and its status. Ignored where another publisher
   * has that id.
   */
  publish(listingId: string, publisher: Publisher, terms: Terms, createdAt = this.#timeNow()): void {
    const before = this.#byId.get(listingId)?.version
    if (before !== undefined && before.publisher.address !== publisher.address) return
    const { status, createdAt: since } = before ?? { status: 'open', createdAt }
    this.#put({ listingId, publisher, terms, status, createdAt: since })
  }

  /** Serves a listing as it is stated, whatever this Registry had of that id. */
  replace(listing: Stated): void {
    this.remove(listing.listingId)
    this.#put(listing)
  }

  remove(listingId: string): void {
    const row = this.#byId.get(listingId)
    if (row === undefined) return
    this.#byId.delete(listingId)
    this.#rows.splice(this.#rows.indexOf(row), 1)
    this.options.history.end(row.version)
  }

  /** The listing keeps its date. */
  setStatus(listingId: string, status: Status): void {
    const version = this.get(listingId)
    if (version !== undefined && version.status !== status) this.#put({ ...version, status })
  }

  #timeNow(): Micros {
    const { now, random, isCoarse, skewMs } = this.options
    const ms = now() + skewMs
    return isCoarse ? Math.floor(ms / 1000) * 1_000_000 : ms * 1000 + Math.floor(random() * 1000)
  }

  #put(stated: Stated): void {
    const { history, name, hasPublishers, isAlwaysOpen = false } = this.options
    const listing = isAlwaysOpen ? { ...stated, status: 'open' as const } : stated
    const { listingId, publisher } = listing
    const before = this.#byId.get(listingId)
    if (before !== undefined) history.end(before.version)
    const text = this.#render(listing)
    const key = `${hasPublishers ? publisher.address : publisher.storefrontUrl} ${listingId}`
    const { terms, status, createdAt, odd } = listing
    const version = history.begin({
      odd,
      registry: name,
      key,
      listingId,
      publisher,
      terms,
      status,
      createdAt,
      text,
    })
    if (before !== undefined) {
      before.version = version
      before.text = text
      return
    }
    const row = { version, inserted: this.#inserted++, text }
    this.#byId.set(listingId, row)
    const behind = this.#rows.findIndex((other) => other.version.createdAt < createdAt)
    this.#rows.splice(behind === -1 ? this.#rows.length : behind, 0, row)
  }

  #render({ listingId, publisher, terms, status, createdAt, odd }: Stated): string {
    return JSON.stringify({
      listing_id: listingId,
      publisher_id: this.#publisherId(publisher),
      storefront_url: publisher.storefrontUrl,
      offer_resource: { ...terms, price: undefined },
      accepted_escrows: odd === 'oversized' ? [{ note: OVERSIZED }] : escrows(terms),
      demands: [],
      max_duration_seconds: null,
      oracle_address: null,
      status,
      created_at: formatTimestamp(createdAt),
      updated_at: formatTimestamp(this.#timeNow()),
    })
  }

  #publisherId(publisher: Publisher): number {
    const name = `${publisher.address} ${publisher.storefrontUrl}`
    const known = this.#publisherIds.get(name)
    if (known !== undefined) return known.id
    const id = this.#publisherIds.size + 1
    this.#publisherIds.set(name, { id, publisher })
    return id
  }

  #answer({ url = '', headers }: IncomingMessage, isServed: IsServed, response: ServerResponse): unknown {
    const { pathname, searchParams } = new URL(url, 'http://registry')
    const isFirst = Number(searchParams.get('offset') ?? 0) === 0
    if (this.outage === 'all' || (this.outage === 'pages' && !isFirst)) return response.destroy()
    if (pathname === '/filter-spec') return this.#answerSpec(headers, response)
    if (pathname === '/publishers') return this.#answerPublishers(searchParams, response)
    this.requests++
    this.onRequest()
    if (pathname === '/listings') return this.#answerPage(searchParams, isServed, response)
    const row = this.#byId.get(decodeURIComponent(pathname.slice('/listings/'.length)))
    return row === undefined || row.version.odd === 'failing' || !isServed(row.version)
      ? respond(response, 404, '{"detail":"Listing not found"}')
      : respond(response, 200, `{"listing":${row.text}}`)
  }

  #answerSpec(headers: IncomingHttpHeaders, response: ServerResponse): unknown {
    const { spec } = this
    if (spec === 'none') return respond(response, 404, '{"detail":"Not Found"}')
    if (headers['if-none-match'] === `"${spec}"`) return response.writeHead(304).end()
    return respond(
      response,
      200,
      JSON.stringify({ version: 1, schema: null, filters: SPECS[spec], etag: spec }),
    )
  }

  #answerPublishers(parameters: URLSearchParams, response: ServerResponse): unknown {
    if (!this.options.hasPublishers) return respond(response, 404, '{"detail":"Not Found"}')
    const offset = Number(parameters.get('offset') ?? 0)
    const limit = Number(parameters.get('limit') ?? 50)
    const items = [...this.#publisherIds.values()]
      .reverse()
      .slice(offset, offset + limit)
      .map(({ id, publisher: { address, storefrontUrl } }) => ({
        publisher_id: id,
        storefront_url: storefrontUrl,
        identities: [{ scheme: 'eip191', identifier: address }],
        created_at: '2026-11-01T00:00:00.000000',
      }))
    return respond(response, 200, JSON.stringify({ items, count: items.length }))
  }

  #answerPage(parameters: URLSearchParams, isServed: IsServed, response: ServerResponse): unknown {
    const { pageSize } = this.options
    const limit = Number(parameters.get('limit') ?? 50)
    const offset = Number(parameters.get('offset') ?? 0)
    const refused = [...parameters.keys()].find((name) => !PARAMETERS.includes(name))
    if (refused !== undefined || !(limit >= 1 && limit <= 200 && offset >= 0))
      return respond(response, 400, `{"detail":"Unknown filter: ${refused}"}`)
    const status = parameters.get('status') ?? 'open'
    const matching = this.#rows.filter(
      ({ version }) => (status === '' || version.status === status) && isServed(version),
    )
    const items = matching.slice(offset, offset + Math.min(limit, pageSize))
    if (items.some(({ version }) => version.odd === 'failing'))
      return respond(response, 500, '{"detail":"Infinity"}')
    const rows = items.map(({ text }) => text).join(',')
    const counts = `"count":${items.length},"total_after_filter":${matching.length}`
    return respond(response, 200, `{"items":[${rows}],${counts}}`)
  }
}

/** A token that the package knows. */
const USDC = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'

export function escrows({ price }: Terms): object[] {
  if (price === null) return []
  const rates = [{ field: 'amount', value: String(price), per: 'hour' }]
  return [{ chain_name: 'base', literal_fields: { token: USDC }, rates }]
}

const GPU_COUNT = {
  name: 'gpu_count_min',
  path: '$.offer_resource.gpu_count',
  op: 'range',
  value_type: 'integer',
  alias_kind: 'lower_bound',
  on_missing: 'fail',
}
const GPU_MODEL = {
  name: 'gpu_model',
  path: '$.offer_resource.gpu_model',
  op: 'in',
  value_type: 'string',
  on_missing: 'fail',
}

const REGION = { ...GPU_MODEL, name: 'region', path: '$.offer_resource.region' }

const SPECS: Readonly<Record<Exclude<SpecKind, 'none'>, readonly object[]>> = {
  same: [GPU_MODEL, GPU_COUNT, REGION],
  partial: [GPU_COUNT],
  other: [{ ...GPU_MODEL, path: '$.offer_resource.model' }, GPU_COUNT, REGION],
}

/** Gateways pull all open listings, and filter what they hold. */
const PARAMETERS = ['status', 'limit', 'offset']

function respond(response: ServerResponse, status: number, body: string): unknown {
  return response.writeHead(status, { 'content-type': 'application/json' }).end(body)
}
