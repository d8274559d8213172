import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import type { UpstreamKind } from '../../src/domain/source/upstream.ts'
import { EntrepotError } from '../../src/errors.ts'
import { matchesAll } from '../../src/filter-spec/evaluate.ts'
import { PROTOCOL_PARAMETERS, parseCriteria } from '../../src/filter-spec/parameters.ts'
import { readUpstreamSpec } from '../../src/filter-spec/upstream-spec.ts'
import type { JsonObject } from '../../src/json/value.ts'
import { eventually } from './eventually.ts'
import { PATIENT } from './listen.ts'

/** How a scripted Registry handles one request. Data, so that a matrix of faults is a table. */
export type Behaviour =
  /** Serves its items, paged by `limit` and `offset`. */
  | { kind: 'serve'; encoding?: 'gzip' | 'deflate' | 'br' | 'zebra' }
  /** Serves its items after `ms`. */
  | { kind: 'delay'; ms: number }
  /** Serves its items when the promise has resolved. */
  | { kind: 'hold'; until: Promise<unknown> }
  /** Reads the request and never answers. */
  | { kind: 'hang' }
  /** Sends headers and half an envelope, and then nothing. */
  | { kind: 'hang_mid_body' }
  /** One byte of white space every `everyMs`, endlessly. */
  | { kind: 'drip'; everyMs: number }
  | { kind: 'reset_before_headers' }
  | { kind: 'reset_mid_body' }
  /** Ends a declared Content-Length early, without a reset. */
  | { kind: 'end_mid_body' }
  | { kind: 'status'; status: number; headers?: Record<string, string>; body?: string }
  /** Answers 200 with these bytes. */
  | { kind: 'body'; body: string | Uint8Array; headers?: Record<string, string> }
  /** `bytes` of white space around an envelope, sent as a stream. */
  | { kind: 'huge'; bytes: number }
  /** The first page at every offset, with the total `total`. */
  | { kind: 'same_page'; total: number }
  /** Does not speak HTTP. */
  | { kind: 'babble' }

export type SeenRequest = { path: string; parameters: URLSearchParams; headers: IncomingMessage['headers'] }

/** May be changed while it runs. */
type FakeState = {
  /** Exact JSON texts of listings, in the order in which they are served. */
  items: string[]
  /**
   * Body of `GET /filter-spec`; `null` answers 404. `If-Match` and `If-None-Match` are compared with its `etag`, its
   * filters are applied, and an unknown filter is refused with 400.
   */
  filterSpec: object | null
  /** Signing address by `publisher_id`, newest first; `null` answers 404. */
  publishers: readonly (readonly [id: number, address: string, storefrontUrl?: string])[] | null
  /** Behaviour of the next requests for pages of listings: one each, the last one repeats. */
  script: Behaviour[]
  /** Behaviour of requests for one listing. Default: it is served, or 404. */
  listingScript: Behaviour
  /** Behaviour of requests for publishers. Default: they are served. */
  publisherScript: Behaviour
  /** Called before each page of listings is answered, with the number of the request. */
  beforePage: (request: number) => void
  /** Ids of listings whose pages and own route answer 500. */
  failing: ReadonlySet<string>
  /** Whether it answers `GET /api/v1/system/stats`, and not 404. */
  hasCounts: boolean
  /** Further members of the envelope, such as `{ complete: false, sources: [] }`. */
  envelope: object
}

export type FakeRegistry = FakeState & {
  /** Base URL, without a trailing slash. */
  url: string
  /** Requests for listings so far, oldest first. */
  requests: SeenRequest[]
  /** Requests for the filter spec, oldest first. */
  specRequests: SeenRequest[]
  /** Requests for publishers, oldest first. */
  publisherRequests: SeenRequest[]
  /** Resolves after that many requests for listings (default 1). */
  requested: (count?: number) => Promise<void>
  /** Maximum of concurrent requests. */
  mostInFlight: () => number
  /** Connections so far. */
  connections: () => number
  /** Ends every connection; new ones get this certificate, if any. */
  hangUp: (certificate?: Certificate) => void
  close: () => Promise<void>
}

/** PEM. */
export type Certificate = { cert: Buffer; key: Buffer }

export type FakeOptions = Partial<Omit<FakeState, 'items' | 'script'>> & {
  items?: readonly string[]
  script?: readonly Behaviour[]
  /** A gateway adds `complete` and `sources`, is paged by `next_cursor` beyond 2,000 listings, and streams NDJSON. */
  kind?: UpstreamKind
  /** Default: any free one, which another test may get after `close`. One of `freePort()` stays closed. */
  port?: number
  /** Path under which it is served, such as `/registry`. */
  prefix?: string
  /** Enables TLS. */
  certificate?: Certificate
  /** Maximum of items on a page, whatever `limit` is. */
  pageSize?: number
  /** Whether a listing passes the filters of a request. Default: only `status` is applied. */
  matches?: (listing: Record<string, unknown>, parameters: URLSearchParams) => boolean
}

const SERVE: Behaviour = { kind: 'serve' }

/** A real server on a free port of the loopback that follows its script. */
export async function startFakeRegistry(options: FakeOptions = {}): Promise<FakeRegistry> {
  const { port = 0, prefix = '', script = [SERVE], items = [], certificate, ...state } = options
  let connections = 0
  let inFlight = 0
  let mostInFlight = 0
  const answer = (request: IncomingMessage, response: ServerResponse): unknown => {
    mostInFlight = Math.max(mostInFlight, ++inFlight)
    response.on('close', () => inFlight--)
    response.setHeader('content-type', 'application/json')
    const url = new URL(request.url ?? '/', 'http://fake')
    const seen = { path: url.pathname, parameters: url.searchParams, headers: request.headers }
    if (seen.path === `${prefix}/filter-spec`) return respondFilterSpec(fake, seen, response)
    if (seen.path === `${prefix}/publishers`) return respondPublishers(fake, seen, response)
    if (seen.path === `${prefix}/api/v1/system/stats`) return respondCounts(fake, response)
    fake.requests.push(seen)
    if (seen.path.startsWith(`${prefix}/listings/`))
      return behave(fake.listingScript, response, () => oneListing(fake, seen, prefix))
    if (seen.path !== `${prefix}/listings`) return respond(response, 404, NOT_FOUND)
    fake.beforePage(fake.requests.length)
    const step = fake.script.length > 1 ? fake.script.shift() : fake.script[0]
    if (isOtherSpec(fake, seen)) return respond(response, 412, '{"detail":"filter-spec etag mismatch"}')
    const isStream = options.kind === 'gateway' && seen.headers.accept === 'application/x-ndjson'
    if (isStream) response.setHeader('content-type', 'application/x-ndjson')
    const serve = (offset?: number): Served => {
      const matching = matchingItems(fake, seen.parameters, options)
      return isStream ? streamOf(matching, fake) : pageOf(matching, { fake, seen, options, offset })
    }
    try {
      return behave(step ?? SERVE, response, serve)
    } catch (error) {
      if (!(error instanceof EntrepotError)) throw error
      return respond(response, error.status, JSON.stringify({ detail: error.message }))
    }
  }
  const secure = certificate === undefined ? null : createTlsServer(certificate, answer)
  const server = secure ?? createServer(PATIENT, answer)
  server.on('connection', () => connections++)
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const fake: FakeRegistry = {
    filterSpec: null,
    publishers: null,
    listingScript: SERVE,
    publisherScript: SERVE,
    beforePage: () => {},
    failing: new Set(),
    hasCounts: false,
    envelope: {},
    ...state,
    items: [...items],
    script: [...script],
    url: `${secure === null ? 'http' : 'https'}://127.0.0.1:${portOf(server)}${prefix}`,
    requests: [],
    specRequests: [],
    publisherRequests: [],
    requested: async (count = 1) => {
      await eventually(
        `asked ${count} times`,
        () => fake.requests.length,
        (length) => length >= count,
      )
    },
    mostInFlight: () => mostInFlight,
    connections: () => connections,
    hangUp: (other) => {
      if (other !== undefined) secure?.setSecureContext(other)
      server.closeAllConnections()
    },
    close: () => closeServer(server),
  }
  return fake
}

const NOT_FOUND = '{"detail":"Not Found"}'

function etagOf({ filterSpec }: FakeRegistry): unknown {
  return (filterSpec as { etag?: unknown } | null)?.etag
}

function isOtherSpec(fake: FakeRegistry, { headers }: SeenRequest): boolean {
  const etag = headers['if-match']
  return fake.filterSpec !== null && etag !== undefined && etag !== `"${etagOf(fake)}"`
}

/** @throws EntrepotError for a filter that its filter spec does not declare */
function matchingItems(
  { filterSpec, items }: FakeRegistry,
  parameters: URLSearchParams,
  { matches = hasStatus }: FakeOptions,
): string[] {
  const matched = items.filter((item) => matches(parsed(item), parameters))
  if (filterSpec === null || !('filters' in filterSpec)) return matched
  const spec = readUpstreamSpec(Buffer.from(JSON.stringify(filterSpec)))
  const filters = [...parameters].filter(([name]) => !PROTOCOL_PARAMETERS.has(name) && name !== 'cursor')
  const criteria = parseCriteria(spec, filters)
  return matched.filter((item) => matchesAll(criteria, parsed(item) as JsonObject))
}

const DOCUMENTS = new Map<string, Record<string, unknown>>()

function parsed(item: string): Record<string, unknown> {
  const document = DOCUMENTS.get(item) ?? JSON.parse(item)
  if (item.length < 4096) DOCUMENTS.set(item, document)
  return document ?? {}
}

function hasStatus(listing: Record<string, unknown>, parameters: URLSearchParams): boolean {
  const status = parameters.get('status') ?? 'open'
  return status === '' || listing.status === status
}

function respondFilterSpec(fake: FakeRegistry, seen: SeenRequest, response: ServerResponse): unknown {
  fake.specRequests.push(seen)
  if (fake.filterSpec === null) return respond(response, 404, NOT_FOUND)
  if (seen.headers['if-none-match'] === `"${etagOf(fake)}"`) return respond(response, 304, '')
  return respond(response, 200, JSON.stringify(fake.filterSpec))
}

function respondPublishers(fake: FakeRegistry, seen: SeenRequest, response: ServerResponse): unknown {
  fake.publisherRequests.push(seen)
  if (fake.publishers === null) return respond(response, 404, NOT_FOUND)
  const offset = Number(seen.parameters.get('offset') ?? 0)
  const limit = Number(seen.parameters.get('limit') ?? 50)
  const identifier = seen.parameters.get('identifier')
  const items = fake.publishers
    .filter(([, address]) => identifier === null || address === identifier)
    .slice(offset, offset + limit)
    .map(([publisher_id, identifier, storefront_url = 'http://storefront.example/']) => ({
      publisher_id,
      storefront_url,
      identities: [identityOf(identifier)],
      created_at: '2026-11-20T15:33:44.792803',
    }))
  const page = { status: 200, body: JSON.stringify({ items, count: items.length }) }
  return behave(fake.publisherScript, response, () => page)
}

/** Of an address, or of a key as `ed25519:…`. */
function identityOf(text: string): { scheme: string; identifier: string } {
  const [scheme, identifier] = text.split(':')
  return identifier === undefined ? { scheme: 'eip191', identifier: text } : { scheme: scheme!, identifier }
}

function respondCounts({ hasCounts, items }: FakeRegistry, response: ServerResponse): unknown {
  if (!hasCounts) return respond(response, 404, NOT_FOUND)
  const orders_by_status = { open: 0, closed: 0, expired: 0 }
  for (const item of items)
    orders_by_status[(parsed(item).status ?? 'open') as keyof typeof orders_by_status]++
  return respond(
    response,
    200,
    JSON.stringify({ publisher_count: 1, order_count: items.length, orders_by_status }),
  )
}

/**
 * A base URL at which nothing listens. No other test gets that port: it is above those of `freePort`, and below those that
 * the system gives to servers.
 */
export function deadUrl(): string {
  return `http://127.0.0.1:${randomInt(30_000, 32_768)}`
}

/** A listing's JSON text in the form of the deployed protocol. */
export function listingText(fields: Record<string, unknown> = {}): string {
  return JSON.stringify({
    listing_id: 'listing-1',
    publisher_id: 1,
    storefront_url: 'http://storefront.example/',
    offer_resource: { gpu_model: 'H100', gpu_count: 1 },
    accepted_escrows: [],
    demands: [],
    max_duration_seconds: null,
    oracle_address: null,
    status: 'open',
    created_at: '2026-11-20T15:33:44.792803',
    updated_at: '2026-11-20T15:33:44.792803',
    ...fields,
  })
}

/** `count` listings, newest first, a second apart, with the ids `{prefix}-0000` and up. */
export function listingTexts(prefix: string, count: number, fields: Record<string, unknown> = {}): string[] {
  return Array.from({ length: count }, (_, n) =>
    listingText({
      listing_id: `${prefix}-${String(n).padStart(4, '0')}`,
      created_at: new Date(Date.UTC(2026, 10, 20) - n * 1000).toISOString().slice(0, 19),
      ...fields,
    }),
  )
}

export function envelopeText(items: readonly string[], total: number, more: object = {}): string {
  const members = JSON.stringify({ count: items.length, total_after_filter: total, ...more })
  return `{"items":[${items.join(',')}],${members.slice(1)}`
}

/** The requested page, or the page at another offset. */
type Serve = (offset?: number) => Served
type Served = { status: number; body: string }
type PageRequest = {
  fake: FakeRegistry
  seen: SeenRequest
  options: FakeOptions
  offset?: number | undefined
}

/** The last listing that a gateway serves by offset. */
const MAX_PREFIX = 2000

function pageOf(matching: readonly string[], { fake, seen, options, offset }: PageRequest): Served {
  const { pageSize = 200, kind } = options
  const limit = Math.min(Number(seen.parameters.get('limit') ?? 50), pageSize)
  const cursor = seen.parameters.get('cursor')
  const requestedOffset = offset ?? Number(seen.parameters.get('offset') ?? 0)
  if (kind === 'gateway' && cursor === null && requestedOffset + limit > MAX_PREFIX)
    return { status: 400, body: `{"detail":"offset + limit may not exceed ${MAX_PREFIX} here: use cursor"}` }
  const start = cursor === null ? requestedOffset : placeOf(cursor, matching)
  const page = matching.slice(start, start + limit)
  if (page.some((item) => fake.failing.has(idOf(item)))) return INTERNAL_ERROR
  const more = kind === 'gateway' ? gatewayMembers(page, start + limit < matching.length) : {}
  return { status: 200, body: envelopeText(page, matching.length, { ...more, ...fake.envelope }) }
}

const INTERNAL_ERROR: Served = { status: 500, body: '{"detail":"Internal Server Error"}' }

function gatewayMembers(page: readonly string[], hasMore: boolean): object {
  const last = page.at(-1)
  const cursor =
    hasMore && last !== undefined ? Buffer.from(sortKeyOf(last)).toString('base64url') : undefined
  return { complete: true, sources: [], ...(cursor === undefined ? {} : { next_cursor: cursor }) }
}

/** Index of the first listing after the one of a cursor, which may be deleted. */
function placeOf(cursor: string, matching: readonly string[]): number {
  const [at = '', id = ''] = Buffer.from(cursor, 'base64url').toString().split(' ')
  const isBehind = (item: string): boolean => {
    const [otherAt = '', otherId = ''] = sortKeyOf(item).split(' ')
    return otherAt < at || (otherAt === at && otherId > id)
  }
  const index = matching.findIndex(isBehind)
  return index === -1 ? matching.length : index
}

function sortKeyOf(item: string): string {
  const { listing_id, created_at, _meta } = parsed(item)
  return `${(_meta as { position?: string } | undefined)?.position ?? created_at} ${listing_id}`
}

function streamOf(matching: readonly string[], { envelope }: FakeRegistry): Served {
  const end = JSON.stringify({ _meta: { complete: true, sources: [], ...envelope } })
  return { status: 200, body: [...matching, end].map((line) => `${line}\n`).join('') }
}

function oneListing({ items, failing }: FakeRegistry, { path }: SeenRequest, prefix: string): Served {
  const id = decodeURIComponent(path.slice(`${prefix}/listings/`.length))
  if (failing.has(id)) return INTERNAL_ERROR
  const item = items.find((text) => idOf(text) === id)
  return item === undefined
    ? { status: 404, body: '{"detail":"Listing not found"}' }
    : { status: 200, body: `{"listing":${item}}` }
}

/** The `listing_id` of a listing's JSON text. */
export function idOf(item: string): string {
  return parsed(item).listing_id as string
}

function behave(step: Behaviour, response: ServerResponse, serve: Serve): unknown {
  switch (step.kind) {
    case 'serve':
      return respondServed(response, serve(), step.encoding)
    case 'delay':
      return setTimeout(() => respondServed(response, serve()), step.ms).unref()
    case 'hold':
      return step.until.then(() => respondServed(response, serve()))
    case 'hang':
      return null
    case 'hang_mid_body':
      return startBody(response, serve().body)
    case 'drip':
      return drip(response, step.everyMs)
    case 'reset_before_headers':
      return response.socket?.resetAndDestroy()
    case 'reset_mid_body':
      startBody(response, serve().body)
      return setTimeout(() => response.socket?.resetAndDestroy(), 10)
    case 'end_mid_body':
      startBody(response, serve().body)
      return setTimeout(() => response.socket?.end(), 10)
    case 'status':
      return respond(response, step.status, step.body ?? '{"detail":"scripted"}', step.headers)
    case 'body':
      return respond(response, 200, step.body, step.headers)
    case 'huge':
      return flood(response, step.bytes)
    case 'same_page':
      return respond(response, 200, serve(0).body.replace(TOTAL, String(step.total)))
    case 'babble':
      return response.socket?.end('220 mail.example ESMTP\r\n')
  }
}

const TOTAL = /(?<="total_after_filter":)\d+/

function respond(
  response: ServerResponse,
  status: number,
  body: string | Uint8Array,
  headers: Record<string, string> = {},
): unknown {
  return response.writeHead(status, headers).end(body)
}

function respondServed(response: ServerResponse, { status, body }: Served, encoding?: string): unknown {
  if (encoding === undefined) return respond(response, status, body)
  return respond(response, status, ENCODERS[encoding]?.(body) ?? body, { 'content-encoding': encoding })
}

const ENCODERS: Record<string, (text: string) => Uint8Array> = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
}

function startBody(response: ServerResponse, body: string): unknown {
  response.writeHead(200, { 'content-length': String(Buffer.byteLength(body)) })
  return response.write(body.slice(0, body.length / 2))
}

function drip(response: ServerResponse, everyMs: number): unknown {
  response.writeHead(200)
  const timer = setInterval(() => response.write(' '), everyMs)
  return response.on('close', () => clearInterval(timer))
}

const CHUNK = Buffer.alloc(65_536, ' ')

function flood(response: ServerResponse, bytes: number): unknown {
  response.writeHead(200)
  let left = bytes
  const more = (): unknown => {
    while (left > 0 && !response.destroyed) {
      left -= CHUNK.length
      if (!response.write(CHUNK)) return response.once('drain', more)
    }
    return response.end(envelopeText([], 0))
  }
  return more()
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}

async function closeServer(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}
