import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { EntrepotError } from '../../src/errors.ts'
import { matchesAll } from '../../src/filter-spec/evaluate.ts'
import { parseCriteria } from '../../src/filter-spec/parameters.ts'
import { REGISTRY_PARAMETERS } from '../../src/filter-spec/reserved.ts'
import { readUpstreamSpec } from '../../src/filter-spec/upstream-spec.ts'

/** What a scripted Registry does with one request. Declared as data, so that a matrix of faults is a table. */
export type Behaviour =
  /** Serves its items as `protocol.md` 1.7 says. */
  | { kind: 'serve'; encoding?: 'gzip' | 'deflate' | 'br' | 'zebra' }
  /** Serves its items after `ms`. */
  | { kind: 'delay'; ms: number }
  /** Serves its items when the promise has resolved. */
  | { kind: 'hold'; until: Promise<unknown> }
  /** Reads the request and says nothing, for ever. */
  | { kind: 'hang' }
  /** Sends headers and half an envelope, and then nothing, for ever. */
  | { kind: 'hang_mid_body' }
  /** One byte of white space every `everyMs`, for ever: each gap is short, the whole is endless. */
  | { kind: 'drip'; everyMs: number }
  | { kind: 'reset_before_headers' }
  | { kind: 'reset_mid_body' }
  /** Ends a declared Content-Length early, without a reset. */
  | { kind: 'end_mid_body' }
  | { kind: 'status'; status: number; headers?: Record<string, string>; body?: string }
  /** Answers 200 with these very bytes. */
  | { kind: 'body'; body: string | Uint8Array; headers?: Record<string, string> }
  /** White space around an envelope, `bytes` of it, sent without holding it all. */
  | { kind: 'huge'; bytes: number }
  /** The same, gzipped. */
  | { kind: 'gzip_bomb'; bytes: number }
  /** The same page, whatever offset was asked for, with a total of `total`. */
  | { kind: 'same_page'; total: number }
  /** Does not speak HTTP. */
  | { kind: 'babble' }

export type SeenRequest = { path: string; parameters: URLSearchParams; headers: IncomingMessage['headers'] }

export type FakeRegistry = {
  /** Base URL, without a trailing slash. */
  url: string
  /** Requests for listings so far, oldest first. */
  requests: SeenRequest[]
  /** Requests for the filter spec, likewise. */
  specRequests: SeenRequest[]
  /** Requests for publishers, likewise. */
  publisherRequests: SeenRequest[]
  /** Resolves when that many requests have come (default 1). */
  requested: (count?: number) => Promise<void>
  /** Most requests that were open at once. */
  mostInFlight: () => number
  /** Connections so far. */
  connections: () => number
  /** JSON texts of listings, newest first, served to the byte. */
  items: string[]
  /**
   * Body of `GET /filter-spec`; `null` answers 404. Its `etag` is heeded as `protocol.md` 1.7 and 1.13 say, and its
   * filters are applied as 1.14 says, an unknown one being refused.
   */
  filterSpec: object | null
  /** Signing address by `publisher_id`, newest first; `null` answers 404. */
  publishers: readonly (readonly [id: number, address: string])[] | null
  /** What happens to the next requests for listings: one step each, the last one for all that follow. */
  script: Behaviour[]
  /** Ends every connection; who comes again is shown that certificate, where one is given. */
  hangUp: (certificate?: Certificate) => void
  close: () => Promise<void>
}

/** PEM. */
export type Certificate = { cert: Buffer; key: Buffer }

export type FakeOptions = Partial<Pick<FakeRegistry, 'filterSpec' | 'publishers'>> & {
  items?: readonly string[]
  script?: readonly Behaviour[]
  /** Path under which it is served, such as `/registry`. */
  prefix?: string
  /** Where given it speaks TLS, with this. */
  certificate?: Certificate
  /** Most items of a page, whatever `limit` says. */
  pageSize?: number
  /** Whether a listing passes the filters of a request. Default: `status` alone is heeded. */
  matches?: (listing: Record<string, unknown>, parameters: URLSearchParams) => boolean
}

const SERVE: Behaviour = { kind: 'serve' }

/** A real server on a free port of the loopback that behaves as its script says. */
export const startFakeRegistry = async (options: FakeOptions = {}): Promise<FakeRegistry> => {
  const { prefix = '', script = [SERVE], items = [], certificate } = options
  let connections = 0
  let inFlight = 0
  let mostInFlight = 0
  const answer = (request: IncomingMessage, response: ServerResponse): unknown => {
    mostInFlight = Math.max(mostInFlight, ++inFlight)
    response.on('close', () => inFlight--)
    const url = new URL(request.url ?? '/', 'http://fake')
    const seen = { path: url.pathname, parameters: url.searchParams, headers: request.headers }
    if (seen.path === `${prefix}/filter-spec`) return respondFilterSpec(fake, seen, response)
    if (seen.path === `${prefix}/publishers`) return respondPublishers(fake, seen, response)
    fake.requests.push(seen)
    const step = fake.script.length > 1 ? fake.script.shift() : fake.script[0]
    if (seen.path !== `${prefix}/listings`) return respond(response, 404, '{"detail":"Not Found"}')
    if (isOtherSpec(fake, seen)) return respond(response, 412, '{"detail":"filter-spec etag mismatch"}')
    try {
      const items = filtered(fake, seen.parameters)
      return behave(step ?? SERVE, response, (offset) => envelope(items, seen.parameters, options, offset))
    } catch (error) {
      if (!(error instanceof EntrepotError)) throw error
      return respond(response, error.status, JSON.stringify({ detail: error.message }))
    }
  }
  const secure = certificate === undefined ? null : createTlsServer(certificate, answer)
  const server = secure ?? createServer(answer)
  server.on('connection', () => connections++)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const fake: FakeRegistry = {
    url: `${secure === null ? 'http' : 'https'}://127.0.0.1:${portOf(server)}${prefix}`,
    requests: [],
    specRequests: [],
    publisherRequests: [],
    requested: async (count = 1) => {
      while (fake.requests.length < count) await once(server, 'request')
    },
    mostInFlight: () => mostInFlight,
    connections: () => connections,
    items: [...items],
    filterSpec: options.filterSpec ?? null,
    publishers: options.publishers ?? null,
    script: [...script],
    hangUp: (other) => {
      if (other !== undefined) secure?.setSecureContext(other)
      server.closeAllConnections()
    },
    close: () => closeServer(server),
  }
  return fake
}

const etagOf = ({ filterSpec }: FakeRegistry): unknown => (filterSpec as { etag?: unknown } | null)?.etag

const isOtherSpec = (fake: FakeRegistry, { headers }: SeenRequest): boolean =>
  fake.filterSpec !== null && headers['if-match'] !== undefined && headers['if-match'] !== `"${etagOf(fake)}"`

const filtered = ({ filterSpec, items }: FakeRegistry, parameters: URLSearchParams): string[] => {
  if (filterSpec === null) return items
  const spec = readUpstreamSpec(Buffer.from(JSON.stringify(filterSpec)))
  const criteria = parseCriteria(
    spec,
    [...parameters].filter(([name]) => !REGISTRY_PARAMETERS.has(name)),
  )
  return items.filter((item) => matchesAll(criteria, JSON.parse(item)))
}

const respondFilterSpec = (fake: FakeRegistry, seen: SeenRequest, response: ServerResponse): unknown => {
  fake.specRequests.push(seen)
  if (fake.filterSpec === null) return respond(response, 404, '{"detail":"Not Found"}')
  if (seen.headers['if-none-match'] === `"${etagOf(fake)}"`) return respond(response, 304, '')
  return respond(response, 200, JSON.stringify(fake.filterSpec))
}

const respondPublishers = (fake: FakeRegistry, seen: SeenRequest, response: ServerResponse): unknown => {
  fake.publisherRequests.push(seen)
  if (fake.publishers === null) return respond(response, 404, '{"detail":"Not Found"}')
  const offset = Number(seen.parameters.get('offset') ?? 0)
  const limit = Number(seen.parameters.get('limit') ?? 50)
  const items = fake.publishers.slice(offset, offset + limit).map(([publisher_id, identifier]) => ({
    publisher_id,
    storefront_url: 'http://storefront.example/',
    identities: [{ scheme: 'eip191', identifier }],
    created_at: '2026-11-20T15:33:44.792803',
  }))
  return respond(response, 200, JSON.stringify({ items, count: items.length }))
}

/** A base URL at which nothing listens. */
export const deadUrl = async (): Promise<string> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const port = portOf(server)
  await closeServer(server)
  return `http://127.0.0.1:${port}`
}

/** A listing's JSON text as a Registry of the deployed protocol serves it (`protocol.md` 1.6). */
export const listingText = (fields: Record<string, unknown> = {}): string =>
  JSON.stringify({
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

/** `count` listings, newest first, a second apart, with the ids `{prefix}-0000` and up. */
export const listingTexts = (prefix: string, count: number, fields: Record<string, unknown> = {}): string[] =>
  Array.from({ length: count }, (_, n) =>
    listingText({
      listing_id: `${prefix}-${String(n).padStart(4, '0')}`,
      created_at: new Date(Date.UTC(2026, 10, 20) - n * 1000).toISOString().slice(0, 19),
      ...fields,
    }),
  )

/** The envelope that a request asks for, or the one at another offset. */
type Serve = (offset?: number) => string

const envelope = (
  items: readonly string[],
  parameters: URLSearchParams,
  { matches = hasStatus, pageSize = 200 }: FakeOptions,
  offset = Number(parameters.get('offset') ?? 0),
): string => {
  const limit = Math.min(Number(parameters.get('limit') ?? 50), pageSize)
  const matching = items.filter((item) => matches(JSON.parse(item), parameters))
  return envelopeText(matching.slice(offset, offset + limit), matching.length)
}

export const envelopeText = (items: readonly string[], total: number): string =>
  `{"items":[${items.join(',')}],"count":${items.length},"total_after_filter":${total}}`

const hasStatus = (listing: Record<string, unknown>, parameters: URLSearchParams): boolean => {
  const status = parameters.get('status') ?? 'open'
  return status === '' || listing.status === status
}

const behave = (step: Behaviour, response: ServerResponse, serve: Serve): unknown => {
  switch (step.kind) {
    case 'serve':
      return respondEncoded(response, step.encoding, serve())
    case 'delay':
      return setTimeout(() => respond(response, 200, serve()), step.ms)
    case 'hold':
      return step.until.then(() => respond(response, 200, serve()))
    case 'hang':
      return null
    case 'hang_mid_body':
      return startBody(response, serve())
    case 'drip':
      return drip(response, step.everyMs)
    case 'reset_before_headers':
      return response.socket?.resetAndDestroy()
    case 'reset_mid_body':
      startBody(response, serve())
      return setTimeout(() => response.socket?.resetAndDestroy(), 10)
    case 'end_mid_body':
      startBody(response, serve())
      return setTimeout(() => response.socket?.end(), 10)
    case 'status':
      return respond(response, step.status, step.body ?? '{"detail":"scripted"}', step.headers)
    case 'body':
      return respond(response, 200, step.body, step.headers)
    case 'huge':
      return flood(response, step.bytes)
    case 'gzip_bomb':
      return respond(response, 200, gzipSync(Buffer.alloc(step.bytes, ' ')), { 'content-encoding': 'gzip' })
    case 'same_page':
      return respond(response, 200, serve(0).replace(/(?<="total_after_filter":)\d+/, String(step.total)))
    case 'babble':
      return response.socket?.end('220 mail.example ESMTP\r\n')
  }
}

const JSON_TYPE = { 'content-type': 'application/json' }

const respond = (
  response: ServerResponse,
  status: number,
  body: string | Uint8Array,
  headers: Record<string, string> = {},
): unknown => response.writeHead(status, { ...JSON_TYPE, ...headers }).end(body)

const respondEncoded = (response: ServerResponse, encoding: string | undefined, body: string): unknown => {
  if (encoding === undefined) return respond(response, 200, body)
  return respond(response, 200, ENCODERS[encoding]?.(body) ?? body, { 'content-encoding': encoding })
}

const ENCODERS: Record<string, (text: string) => Uint8Array> = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
}

const startBody = (response: ServerResponse, body: string): unknown => {
  response.writeHead(200, { ...JSON_TYPE, 'content-length': String(Buffer.byteLength(body)) })
  return response.write(body.slice(0, body.length / 2))
}

const drip = (response: ServerResponse, everyMs: number): unknown => {
  response.writeHead(200, JSON_TYPE)
  const timer = setInterval(() => response.write(' '), everyMs)
  return response.on('close', () => clearInterval(timer))
}

const CHUNK = Buffer.alloc(65_536, ' ')

const flood = (response: ServerResponse, bytes: number): unknown => {
  response.writeHead(200, JSON_TYPE)
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

const portOf = (server: Server): number => (server.address() as AddressInfo).port

const closeServer = async (server: Server): Promise<void> => {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}
