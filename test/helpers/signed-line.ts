import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto'
import canonicalize from 'canonicalize'
import { toHex } from 'viem'
import type { privateKeyToAccount } from 'viem/accounts'

// The signed line, written from the protocol and without the code under test.

type Party = { scheme: string; identifier: string }
/** Who signs: a key of Ed25519 or a wallet. */
export type Key = { party: Party; sign: (message: Buffer) => Promise<string> }

export function ed25519Key(seed: Buffer): Key {
  const key = createPrivateKey({
    key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]),
    format: 'der',
    type: 'pkcs8',
  })
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' })
  return {
    party: { scheme: 'ed25519', identifier: x },
    sign: async (message) => sign(null, message, key).toString('base64url'),
  }
}

export const walletKey = (account: ReturnType<typeof privateKeyToAccount>): Key => ({
  party: { scheme: 'eip191', identifier: account.address.toLowerCase() },
  sign: (message) => account.signMessage({ message: { raw: toHex(message) } }),
})

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

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Of a body as text; `null` for one without a canonical form. */
export function bodyHashOf(text: string): string | null {
  if (text === '') return sha256('')
  try {
    return sha256(canonicalize(JSON.parse(text, refuseInexact)) ?? '')
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/** A reviver that sees the literal. */
function refuseInexact(key: string, value: unknown, context?: { source?: string }): unknown {
  const isInexact =
    typeof value === 'number' &&
    (!Number.isFinite(value) || (/^-?\d+$/.test(context?.source ?? '') && !Number.isSafeInteger(value)))
  const isIllFormed = !key.isWellFormed() || (typeof value === 'string' && !value.isWellFormed())
  if (isInexact || isIllFormed) throw new RangeError('no canonical form')
  return value
}

/** What a request signs in place of its query. */
export function queryText(query: URLSearchParams, ifMatch: string | undefined): string {
  const pairs = [...query].sort(([a, x], [b, y]) => byCodePoint(a, b) || byCodePoint(x, y))
  const etag = ifMatch
    ?.trim()
    .replace(/^W\//, '')
    .trim()
    .replace(/^"+|"+$/g, '')
  return JSON.stringify({ query: pairs, ...(etag !== undefined && { if_match: etag }) })
}

function byCodePoint(one: string, other: string): number {
  const [a, b] = [[...one], [...other]]
  const at = a.findIndex((character, n) => character !== b[n])
  if (at === -1) return a.length - b.length
  return (a[at]?.codePointAt(0) ?? -1) - (b[at]?.codePointAt(0) ?? -1)
}

type Question = { operation: string; resource: string; isWrite: boolean }

/** `null` for a path that is not signed. */
export function questionOf(method: string, path: string): Question | null {
  for (const [verb, pattern, operation, resource] of OPERATIONS) {
    const found = method === verb ? pattern.exec(path) : null
    if (found === null) continue
    const parts = found.slice(1).map(decodeURIComponent)
    const isNumbered = path.startsWith('/publishers/')
    if (isNumbered) parts[0] = String(Number(parts[0]))
    return { operation, resource: resource ?? parts.join(':'), isWrite: method !== 'GET' }
  }
  return null
}

const OPERATIONS: readonly (readonly [method: string, path: RegExp, operation: string, resource?: string])[] =
  [
    ['POST', /^\/listings$/, 'listing.publish', 'listings'],
    ['GET', /^\/listings$/, 'listing.list', 'listings'],
    ['GET', /^\/listings\/([^/]+)$/, 'listing.get'],
    ['PUT', /^\/listings\/([^/]+)$/, 'listing.update'],
    ['DELETE', /^\/listings\/([^/]+)$/, 'listing.delete'],
    ['GET', /^\/publishers$/, 'publisher.list', 'publishers'],
    ['GET', /^\/publishers\/(\d+)$/, 'publisher.get'],
    ['GET', /^\/filter-spec$/, 'filter.get', 'filter-spec'],
    ['GET', /^\/api\/v1\/system\/health$/, 'health.read', 'health'],
    ['GET', /^\/api\/v1\/system\/stats$/, 'system.stats.read', 'system'],
    ['POST', /^\/api\/v1\/listings\/validate-publish$/, 'listing.validate', 'listings'],
    ['POST', /^\/publishers\/(\d+)\/identity-rotations$/, 'publisher.identity.rotate'],
    ['GET', /^\/publishers\/(\d+)\/identity-rotations\/([^/]+)$/, 'publisher.identity.rotation.read'],
    ['POST', /^\/publishers\/(\d+)\/identity-rotations\/([^/]+)\/retire$/, 'publisher.identity.retire'],
  ]

/** What validate-publish hashes: the model, filled in. */
export function filledIn(text: string): string {
  const given = JSON.parse(text)
  const { listing_id, storefront_url, offer_resource, accepted_escrows, settlement_options, demands } = given
  const seconds = given.max_duration_seconds
  return JSON.stringify({
    listing_id,
    storefront_url: storefront_url ?? '',
    offer_resource: offer_resource ?? {},
    accepted_escrows: accepted_escrows ?? [],
    settlement_options: settlement_options ?? [],
    demands: demands ?? [],
    max_duration_seconds: typeof seconds === 'string' ? Number(seconds) : (seconds ?? null),
  })
}

export const REQUEST_VERSION = 'arkhai.market-request-signature.v2'
const ANSWER_VERSION = 'arkhai.market-response-signature.v2'

/** The fields that requests and answers sign, from the second to the last but the time. */
export type Envelope = {
  role: string
  party: Party
  method: string
  operation: string
  resource: string
  requestId: string
  timestamp: string
}

export const messageOf = (version: string, envelope: Envelope, rest: readonly string[]): Buffer => {
  const { role, party, method, operation, resource, requestId, timestamp } = envelope
  const { scheme, identifier } = party
  return framed([
    version,
    role,
    scheme,
    identifier,
    method,
    operation,
    resource,
    requestId,
    timestamp,
    ...rest,
  ])
}

export const headersOf = (version: string, envelope: Envelope, proof: string): Record<string, string> => ({
  'x-market-signature-version': version,
  'x-market-identity-scheme': envelope.party.scheme,
  'x-market-identity-identifier': envelope.party.identifier,
  'x-market-role': envelope.role,
  'x-market-request-id': envelope.requestId,
  'x-market-timestamp': envelope.timestamp,
  'x-market-signature': proof,
})

/** The headers of the answer of a Registry with this key; `timestamp`: of the answer. */
export async function answerHeaders(
  { party, sign: signWith }: Key,
  asked: Envelope,
  { status, text }: { status: number; text: string },
): Promise<Record<string, string>> {
  const envelope = { ...asked, role: 'registry', party }
  const message = messageOf(ANSWER_VERSION, envelope, [String(status), bodyHashOf(text) ?? ''])
  return headersOf(ANSWER_VERSION, envelope, await signWith(message))
}

type Intent = {
  protocol: string
  current: Party
  replacement: Party
  subject: string
  authority: string
  nonce: string
  overlap_seconds: number
  expires_at: number
}

/** The frame that both keys of a rotation sign. */
export const rotationMessage = (intent: Intent): Buffer =>
  framed([
    intent.protocol,
    intent.current.scheme,
    intent.current.identifier,
    intent.replacement.scheme,
    intent.replacement.identifier,
    intent.subject,
    intent.authority,
    intent.nonce,
    String(intent.overlap_seconds),
    String(intent.expires_at),
  ])

/** The body of a rotation, signed by both keys. */
export async function rotationBody(current: Key, replacement: Key, intent: Partial<Intent>): Promise<string> {
  const whole: Intent = {
    protocol: 'arkhai.market-identity-rotation.v1',
    current: current.party,
    replacement: replacement.party,
    subject: 'publisher:1',
    authority: 'registry-a',
    nonce: 'rotation-1',
    overlap_seconds: 300,
    expires_at: Math.floor(Date.now() / 1000) + 300,
    ...intent,
  }
  const proofOf = async ({ party, sign: signWith }: Key) => ({
    scheme: party.scheme,
    value: await signWith(rotationMessage(whole)),
  })
  return JSON.stringify({
    intent: whole,
    current_proof: await proofOf(current),
    replacement_proof: await proofOf(replacement),
  })
}
