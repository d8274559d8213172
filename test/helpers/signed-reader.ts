import { createPublicKey, randomUUID, sign, verify } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { JsonValue } from '../../src/json/value.ts'
import type { Teardown } from './registry.ts'
import { temporaryFile } from './run-cli.ts'
import { framed, keyOf, publicKeyOf, questionOf, sha256 } from './signed-registry.ts'

const SEED = Buffer.alloc(32, 3)
const READER = Buffer.alloc(32, 4)

/** The environment of a service that answers on the signed line, with the key of `readSigned`. */
export const authorityEnvironment = (t: Teardown): Record<string, string> => ({
  REGISTRY_AUTHORITY_ID: 'registry-a',
  REGISTRY_AUTHORITY_SCHEME: 'ed25519',
  REGISTRY_AUTHORITY_IDENTIFIER: publicKeyOf(SEED),
  REGISTRY_AUTHORITY_CREDENTIAL_FILE: temporaryFile(t, 'authority.key', SEED.toString('base64url')),
})

type Changes = {
  /** Replace single headers; `null` leaves one out. */
  headers?: Record<string, string | null>
  /** Of the request, when another one is signed. */
  path?: string
  timestamp?: string
  requestId?: string
}

type Row = { listing_id: string; publisher_id: unknown; identities: unknown }
type Body = { items: Row[]; listing: Row; filters: object[]; etag: string; current_etag: string }
export type SignedReply = { status: number; isSigned: boolean; body: Body; headers: Headers }

/** Reads as a client of the signed line, written from the protocol and without the code under test. */
export async function readSigned(url: string, path: string, changes: Changes = {}): Promise<SignedReply> {
  const { timestamp = String(Math.floor(Date.now() / 1000)), requestId = randomUUID() } = changes
  const { pathname, searchParams } = new URL(path, url)
  const etag = changes.headers?.['if-match']
  const pairs = [...searchParams].sort(([a, x], [b, y]) => (a < b ? -1 : a > b ? 1 : x < y ? -1 : 1))
  const body = canonicalize({ query: pairs, ...(etag && { if_match: etag.replaceAll('"', '') }) })!
  const [operation, resource] = questionOf(pathname)
  const identifier = publicKeyOf(READER)
  const version = 'arkhai.market-request-signature.v2'
  const fields = [
    'buyer',
    'ed25519',
    identifier,
    'GET',
    operation,
    resource,
    requestId,
    timestamp,
    sha256(body),
  ]
  const headers: Record<string, string | null> = {
    'x-market-signature-version': version,
    'x-market-identity-scheme': 'ed25519',
    'x-market-identity-identifier': identifier,
    'x-market-role': 'buyer',
    'x-market-request-id': requestId,
    'x-market-timestamp': timestamp,
    'x-market-signature': sign(null, framed([version, ...fields]), keyOf(READER)).toString('base64url'),
    ...changes.headers,
  }
  const sent = Object.entries(headers).flatMap(([name, value]) =>
    value === null ? [] : [[name, value] as const],
  )
  const response = await fetch(new URL(changes.path ?? path, url), { headers: Object.fromEntries(sent) })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? null : JSON.parse(text),
    isSigned: isAnswer(response, text, { operation, resource, requestId }),
  }
}

function isAnswer({ status, headers }: Response, text: string, asked: Record<string, string>): boolean {
  const read = (name: string): string => headers.get(`x-market-${name}`) ?? ''
  const { operation = '', resource = '', requestId = '' } = asked
  if (read('signature') === '') return false
  const hash = sha256(text === '' ? '' : canonicalize(JSON.parse(text) as JsonValue)!)
  const message = framed([
    'arkhai.market-response-signature.v2',
    'registry',
    'ed25519',
    publicKeyOf(SEED),
    'GET',
    operation,
    resource,
    requestId,
    read('timestamp'),
    String(status),
    hash,
  ])
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKeyOf(SEED) }, format: 'jwk' })
  return verify(null, message, key, Buffer.from(read('signature'), 'base64url'))
}
