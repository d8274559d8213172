import { randomUUID } from 'node:crypto'
import type { Teardown } from './registry.ts'
import { temporaryFile } from './run-cli.ts'
import {
  answerHeaders,
  bodyHashOf,
  type Envelope,
  ed25519Key,
  filledIn,
  headersOf,
  type Key,
  messageOf,
  queryText,
  questionOf,
  REQUEST_VERSION,
} from './signed-line.ts'

/** Of the key that has to answer. */
export const AUTHORITY_SEED = Buffer.alloc(32, 3)
export const AUTHORITY = ed25519Key(AUTHORITY_SEED)
const READER = ed25519Key(Buffer.alloc(32, 4))

/** The environment of a service that answers on the signed line, with the key of `readSigned`. */
export const authorityEnvironment = (t: Teardown): Record<string, string> => ({
  REGISTRY_AUTHORITY_ID: 'registry-a',
  REGISTRY_AUTHORITY_SCHEME: AUTHORITY.party.scheme,
  REGISTRY_AUTHORITY_IDENTIFIER: AUTHORITY.party.identifier,
  REGISTRY_AUTHORITY_CREDENTIAL_FILE: temporaryFile(t, 'authority.key', AUTHORITY_SEED.toString('base64url')),
})

export type Changes = {
  /** Who asks. Default: a key of Ed25519. */
  key?: Key
  /** Default: `buyer` for reads, `seller` for writes. */
  role?: string
  /** Replace single headers; `null` leaves one out. */
  headers?: Record<string, string | null>
  /** Of the request, when another one is signed. */
  path?: string
  /** Sent when another one is signed. */
  body?: string | Buffer
  timestamp?: string
  requestId?: string
  /** Of the message, when the path has another. */
  operation?: string
  resource?: string
}

type Row = {
  listing_id: string
  status: string
  publisher_id: unknown
  identities: unknown
  publisher_principals: { identities: object[] }
  settlement_options: unknown
}
type Body = {
  items: Row[]
  listing: Row
  filters: object[]
  etag: string
  current_etag: string
  detail: unknown
  total_after_filter: number
  sources?: object[]
}
export type SignedReply = { status: number; isSigned: boolean; body: Body; text: string; headers: Headers }

/** Reads as a client of the signed line, written from the protocol and without the code under test. */
export const readSigned = (url: string, path: string, changes: Changes = {}): Promise<SignedReply> =>
  sendSigned(url, 'GET', path, undefined, changes)

/** Sends any request likewise. @param body JSON text, or a value */
export async function sendSigned(
  url: string,
  method: string,
  path: string,
  body?: unknown,
  changes: Changes = {},
): Promise<SignedReply> {
  const {
    timestamp = String(Math.floor(Date.now() / 1000)),
    requestId = randomUUID(),
    key = READER,
  } = changes
  const { pathname, searchParams } = new URL(path, url)
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
  const known = questionOf(method, pathname)
  const { operation = known?.operation ?? '', resource = known?.resource ?? '' } = changes
  const signed = method === 'GET' ? queryText(searchParams, changes.headers?.['if-match'] ?? undefined) : text
  const hash = bodyHashOf(operation === 'listing.validate' ? filledIn(signed) : signed) ?? ''
  const role = changes.role ?? (method === 'GET' ? 'buyer' : 'seller')
  const envelope = { role, party: key.party, method, operation, resource, requestId, timestamp }
  const proof = await key.sign(messageOf(REQUEST_VERSION, envelope, [hash]))
  const headers: Record<string, string | null> = {
    ...headersOf(REQUEST_VERSION, envelope, proof),
    ...(text !== '' && { 'content-type': 'application/json' }),
    ...changes.headers,
  }
  const sent = Object.entries(headers).flatMap(([name, value]) =>
    value === null ? [] : [[name, value] as const],
  )
  const content = changes.body ?? (text === '' ? undefined : text)
  const response = await fetch(new URL(changes.path ?? path, url), {
    method,
    headers: Object.fromEntries(sent),
    ...(content !== undefined && { body: content }),
  })
  const answer = { status: response.status, headers: response.headers, text: await response.text() }
  const isJson = response.headers.get('content-type')?.includes('json')
  return {
    ...answer,
    body: isJson ? JSON.parse(answer.text) : null,
    isSigned: await isAnswer(answer, envelope),
  }
}

/** Whether these are the headers of the Registry's answer to that request: a key of Ed25519 has one proof of a message. */
async function isAnswer(
  answer: { status: number; headers: Headers; text: string },
  asked: Envelope,
): Promise<boolean> {
  const timestamp = answer.headers.get('x-market-timestamp') ?? ''
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > 301) return false
  const expected = await answerHeaders(AUTHORITY, { ...asked, timestamp }, answer)
  return Object.entries(expected).every(([name, value]) => answer.headers.get(name) === value)
}
