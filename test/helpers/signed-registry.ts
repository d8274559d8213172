import { createHash, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import canonicalize from 'canonicalize'
import type { Teardown } from './registry.ts'
import { temporaryFile } from './run-cli.ts'

/** `[gateway.identity]` with a key of its own. */
export function identityToml(t: Teardown): string {
  const file = temporaryFile(t, 'gateway.key', Buffer.alloc(32, 7).toString('base64url'))
  return `[gateway.identity]\nscheme = "ed25519"\nkey_file = "${file}"\n`
}

/** A listing of a Registry of the signed line; `seller`: the public key that publishes it. */
export type SignedListing = { listing_id: string; seller: string; [member: string]: unknown }

/** What a Registry of the signed line does otherwise than a good one. */
export type Fault =
  | 'foreign key'
  | 'unsigned'
  | 'changed body'
  | 'changed status'
  | 'other request'
  | 'old'
  | 'unsigned 500'
  | 'unsigned 429'
  | null

/**
 * A Registry of the signed line, written from the protocol and without the code under test. It answers pages, single listings, publishers
 * and its filter spec, each signed, and refuses what is not signed well. `state.fault` and `state.items` may be changed while it runs.
 */
export async function startSignedRegistry(t: Teardown, items: readonly SignedListing[] = []) {
  const seeds = { own: Buffer.alloc(32, 1), foreign: Buffer.alloc(32, 2) }
  const state = {
    items,
    fault: null as Fault,
    poisoned: null as string | null,
    seen: [] as string[],
    skewSeconds: 0,
  }
  const server = createServer((request, response) => {
    const refused = refusalOf(request)
    const operation = `${request.method} ${request.url}`
    state.seen.push(operation)
    if (refused !== null) {
      response.writeHead(401, {
        'content-type': 'application/json',
        date: new Date(nowOf(state) * 1000).toUTCString(),
      })
      response.end(JSON.stringify({ detail: refused }))
      return
    }
    answer(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close().closeAllConnections())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, state, identifier: publicKeyOf(seeds.own), foreign: publicKeyOf(seeds.foreign) }

  function refusalOf({ method, url = '', headers }: IncomingMessage): string | null {
    const { pathname, searchParams } = new URL(url, 'http://registry')
    const read = (name: string): string => String(headers[`x-market-${name}`] ?? '')
    if (!['buyer', 'service'].includes(read('role'))) return 'context_mismatch'
    if (Math.abs(nowOf(state) - Number(read('timestamp'))) > 300) return 'timestamp_skew'
    const pairs = [...searchParams].sort(([a, x], [b, y]) => (a < b ? -1 : a > b ? 1 : x < y ? -1 : 1))
    const etag = headers['if-match']?.replaceAll('"', '')
    const body = canonicalize({ query: pairs, ...(etag !== undefined && { if_match: etag }) })!
    const [operation, resource] = questionOf(pathname)
    const message = framed([
      'arkhai.market-request-signature.v2',
      read('role'),
      read('identity-scheme'),
      read('identity-identifier'),
      method!,
      operation,
      resource,
      read('request-id'),
      read('timestamp'),
      sha256(body),
    ])
    const key = { kty: 'OKP', crv: 'Ed25519', x: read('identity-identifier') }
    const isGood = verify(
      null,
      message,
      createPublicKey({ key, format: 'jwk' }),
      Buffer.from(read('signature'), 'base64url'),
    )
    return isGood ? null : 'invalid_proof'
  }

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const { fault } = state
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://registry')
    const page = pageOf(pathname, searchParams)
    if (fault?.startsWith('unsigned ') || page.ids.includes(state.poisoned ?? '')) {
      response.writeHead(fault === 'unsigned 429' ? 429 : 500).end('Internal Server Error')
      return
    }
    const [operation, resource] = questionOf(pathname)
    const text = JSON.stringify(page.body)
    const timestamp = String(nowOf(state) - (fault === 'old' ? 301 : 0))
    const seed = fault === 'foreign key' ? seeds.foreign : seeds.own
    const requestId = fault === 'other request' ? 'other' : String(request.headers['x-market-request-id'])
    const identifier = publicKeyOf(seed)
    const message = framed([
      'arkhai.market-response-signature.v2',
      'registry',
      'ed25519',
      identifier,
      'GET',
      operation,
      resource,
      requestId,
      timestamp,
      String(page.status),
      sha256(canonicalize(page.body)!),
    ])
    response.writeHead(fault === 'changed status' ? 410 : page.status, {
      'content-type': 'application/json',
      ...(fault !== 'unsigned' && {
        'x-market-signature-version': 'arkhai.market-response-signature.v2',
        'x-market-identity-scheme': 'ed25519',
        'x-market-identity-identifier': identifier,
        'x-market-role': 'registry',
        'x-market-request-id': requestId,
        'x-market-timestamp': timestamp,
        'x-market-signature': sign(null, message, keyOf(seed)).toString('base64url'),
      }),
    })
    response.end(fault === 'changed body' ? text.replace('{', '{"added":1,') : text)
  }

  function pageOf(
    path: string,
    parameters: URLSearchParams,
  ): { status: number; body: object; ids: string[] } {
    const limit = Number(parameters.get('limit') ?? 50)
    const offset = Number(parameters.get('offset') ?? 0)
    const sellers = [...new Set(state.items.map(({ seller }) => seller))]
    const rows = state.items.map((item) => rowOf(item, sellers.indexOf(item.seller) + 1))
    if (path === '/filter-spec')
      return { status: 200, body: { version: 1, etag: 'one', listing_shape: {}, filters: [FILTER] }, ids: [] }
    if (path === '/publishers')
      return {
        status: 200,
        body: { items: sellers.map(publisherOf).filter(wantedBy(parameters, '')) },
        ids: [],
      }
    if (path === '/listings') {
      const open = rows.filter(({ publisher_principals: { identities } }) =>
        wantedBy(parameters, 'publisher_')({ identities }),
      )
      const found = open.filter(({ offer_resource: { region } }) =>
        [null, region].includes(parameters.get('region')),
      )
      const items = found.slice(offset, offset + limit)
      const ids = items.map(({ listing_id }) => listing_id)
      return { status: 200, body: { items, count: items.length, total_after_filter: found.length }, ids }
    }
    const id = decodeURIComponent(path.replace('/listings/', ''))
    const row = rows.find(({ listing_id }) => listing_id === id)
    return row === undefined
      ? { status: 404, body: { detail: 'Listing not found' }, ids: [] }
      : { status: 200, body: { listing: row }, ids: [id] }
  }
}

const FILTER = {
  name: 'region',
  path: '$.offer_resource.region',
  query_name: null,
  query_aliases: ['where'],
  op: 'in',
  value_type: 'string',
  alias_kind: null,
  on_missing: 'fail',
  indexed: false,
}

const nowOf = ({ skewSeconds }: { skewSeconds: number }): number =>
  Math.floor(Date.now() / 1000) + skewSeconds

export function questionOf(path: string): [operation: string, resource: string] {
  const [, publisher] = /^\/publishers\/0*(\d+)$/.exec(path) ?? []
  if (publisher !== undefined) return ['publisher.get', publisher]
  return QUESTIONS.get(path) ?? ['listing.get', decodeURIComponent(path.replace('/listings/', ''))]
}

const QUESTIONS = new Map<string, [operation: string, resource: string]>([
  ['/listings', ['listing.list', 'listings']],
  ['/publishers', ['publisher.list', 'publishers']],
  ['/filter-spec', ['filter.get', 'filter-spec']],
  ['/api/v1/system/health', ['health.read', 'health']],
  ['/api/v1/system/stats', ['system.stats.read', 'system']],
])

function rowOf({ seller, ...item }: SignedListing, publisher_id: number) {
  return {
    publisher_id,
    publisher_principals: { identities: [{ scheme: schemeOf(seller), identifier: seller }] },
    storefront_url: 'http://storefront.example/',
    offer_resource: { gpu_model: 'H200', region: 'Reykjavik, IS' } as { region?: string },
    accepted_escrows: [],
    settlement_options: [],
    demands: [],
    max_duration_seconds: null,
    oracle_address: null,
    status: 'open',
    created_at: '2026-11-20T00:00:00',
    updated_at: '2026-11-20T00:00:00',
    ...item,
  }
}

const schemeOf = (seller: string): string => (seller.startsWith('0x') ? 'eip191' : 'ed25519')

const publisherOf = (seller: string, n: number) => ({
  publisher_id: n + 1,
  storefront_url: 'http://storefront.example/',
  identities: [
    {
      principal: { scheme: 'ed25519', identifier: 'A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg' },
      status: 'retired',
    },
    { principal: { scheme: schemeOf(seller), identifier: seller }, status: 'primary', active_until: null },
  ],
})

type Named = {
  identities: readonly (
    | { scheme: string; identifier: string }
    | { principal: { scheme: string; identifier: string } }
  )[]
}

/** Of publishers: those that the parameters name, or all. */
const wantedBy =
  (parameters: URLSearchParams, prefix: string) =>
  ({ identities }: Named): boolean => {
    const [scheme, identifier] = [parameters.get(`${prefix}scheme`), parameters.get(`${prefix}identifier`)]
    if (scheme === null && identifier === null) return true
    return identities.some((one) => {
      const principal = 'principal' in one ? one.principal : one
      return principal.scheme === scheme && principal.identifier === identifier
    })
  }

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

export const framed = (fields: readonly string[]): Buffer =>
  Buffer.concat(
    fields.map((field) => {
      const bytes = Buffer.from(field)
      const message = Buffer.alloc(4 + bytes.length)
      message.writeInt32BE(bytes.length)
      bytes.copy(message, 4)
      return message
    }),
  )

export const keyOf = (seed: Buffer) =>
  createPrivateKey({
    key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]),
    format: 'der',
    type: 'pkcs8',
  })

export const publicKeyOf = (seed: Buffer): string => createPublicKey(keyOf(seed)).export({ format: 'jwk' }).x!
