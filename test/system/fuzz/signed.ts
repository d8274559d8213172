import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { anyText } from '../../helpers/any-text.ts'
import { jsonObjectText, jsonText } from '../../helpers/json-text.ts'
import { ALICE, BOB, unixNow } from '../../helpers/seller.ts'
import {
  bodyHashOf,
  ed25519Key,
  framed,
  headersOf,
  queryText,
  questionOf,
  REQUEST_VERSION,
  walletKey,
} from '../../helpers/signed-line.ts'
import type { FuzzRequest } from './messages.ts'

/** A request of the signed line before it is signed, and how it is spoiled. */
type Draft = {
  method: string
  path: string
  query: string
  body: string
  key: number
  role: string
  requestId: string | null
  /** Seconds off the clock. */
  skew: number
  ifMatch: string | null
  /** What happens to the fields that are signed. */
  frame: (fields: string[], message: (fields: string[]) => Buffer) => Buffer
  isSpoiled: boolean
  /** Replace headers; `null` leaves one out. */
  headers: readonly (readonly [string, string | null])[]
}

const KEYS = [
  ed25519Key(Buffer.alloc(32, 31)),
  ed25519Key(Buffer.alloc(32, 32)),
  walletKey(ALICE),
  walletKey(BOB),
]

/** Signed with real keys, and then spoiled: headers, frames, bodies, queries. */
export const signedDrafts = (listingIds: readonly string[]): fc.Arbitrary<Draft> =>
  fc
    .record({
      method: fc.oneof(
        { weight: 8, arbitrary: fc.constant('') },
        fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'HEAD'),
      ),
      path: fc.constantFrom(
        ...PATHS,
        ...listingIds.flatMap((id) => [
          `GET /listings/${encodeURIComponent(id)}`,
          `PUT /listings/${encodeURIComponent(id)}`,
          `DELETE /listings/${encodeURIComponent(id)}`,
        ]),
      ),
      query: fc.oneof(
        { weight: 3, arbitrary: fc.constant('') },
        fc.array(pair, { maxLength: 3 }).map((all) => all.join('&')),
      ),
      body: fc.oneof(
        listing(listingIds),
        jsonObjectText(),
        jsonText(),
        fc.constantFrom(
          '',
          '{',
          '{"a":9007199254740993}',
          '{"a":1e400}',
          '{"a":"\\ud800"}',
          '['.repeat(2000),
          rotation(),
        ),
      ),
      key: fc.nat({ max: KEYS.length - 1 }),
      role: fc.constantFrom('buyer', 'seller', 'seller', 'service'),
      requestId: fc.oneof(
        { weight: 6, arbitrary: fc.constant(null) },
        fc.constantFrom('again', 'a'.repeat(128), '-', ''),
      ),
      skew: fc.oneof({ weight: 8, arbitrary: fc.constant(0) }, fc.constantFrom(-400, -290, 290, 400)),
      ifMatch: fc.oneof(
        { weight: 6, arbitrary: fc.constant(null) },
        fc.constantFrom('"x"', 'W/"x"', '', '*'),
      ),
      frame: fc.constantFrom(undefined, undefined, undefined, ...FRAMES),
      headers: fc.array(fc.tuple(fc.constantFrom(...HEADERS), fc.oneof(value, fc.constant(null))), {
        maxLength: 2,
      }),
    })
    .map(({ path, method, frame, ...draft }) => {
      const [verb = '', target = ''] = path.split(' ')
      return {
        ...draft,
        method: method === '' ? verb : method,
        path: target,
        frame: frame ?? ((fields, message) => message(fields)),
        isSpoiled: frame !== undefined,
      }
    })

const PATHS = [
  'POST /listings',
  'POST /listings',
  'GET /listings',
  'GET /listings',
  'GET /publishers',
  'GET /publishers/1',
  `GET /publishers/${'9'.repeat(40)}`,
  'GET /filter-spec',
  'GET /api/v1/system/health',
  'GET /api/v1/system/stats',
  'GET /facets',
  'GET /sources',
  'POST /api/v1/listings/validate-publish',
  'POST /publishers/1/identity-rotations',
  'GET /publishers/1/identity-rotations/n',
  'POST /publishers/1/identity-rotations/n/retire',
  'GET /nowhere',
  'POST /mcp',
  'GET /changes',
]

const FRAMES: readonly Draft['frame'][] = [
  (fields, message) => message(fields.slice(1)),
  (fields, message) => message([...fields, '']),
  (fields, message) => message(fields.toReversed()),
  (fields, message) => message([fields.join(''), '']),
  (fields, message) => Buffer.concat([message(fields), Buffer.from([0])]),
  (fields, message) => message(fields).subarray(1),
  (fields) => Buffer.from(fields.join('')),
]

const HEADERS = [
  'signature-version',
  'identity-scheme',
  'identity-identifier',
  'role',
  'request-id',
  'timestamp',
  'signature',
  'more',
].map((name) => `x-market-${name}`)

const character = (min: number, max: number) =>
  fc.integer({ min, max }).map((code) => String.fromCharCode(code))
const value = fc.oneof(
  fc.string({ unit: character(0x20, 0x7e), maxLength: 90 }),
  fc.string({ unit: character(0xa0, 0xff), maxLength: 20 }),
  fc.constantFrom(
    '',
    'eip191',
    'ed25519',
    `0x${'00'.repeat(65)}`,
    `0x${'f'.repeat(40)}`,
    'A'.repeat(43),
    'A'.repeat(86),
    String(2n ** 63n),
    '1_0',
    '9'.repeat(3000),
    'buyer',
    REQUEST_VERSION,
  ),
)

const escaped = anyText(8).map(encodeURIComponent)
const name = fc.oneof(
  fc.constantFrom(
    'limit',
    'offset',
    'status',
    'publisher_scheme',
    'publisher_identifier',
    'publisher',
    'scheme',
    'identifier',
    'region',
    'by',
    'gpu',
    'sort',
  ),
  escaped,
)
const pair = fc
  .tuple(
    name,
    fc.oneof(
      fc.constantFrom('', '1', '-1', 'x', 'open', 'eip191', 'ed25519', '0x1', '%ff', '%', '+', 'price'),
      escaped,
    ),
  )
  .map((both) => both.join('='))

const listing = (ids: readonly string[]) =>
  fc
    .tuple(
      fc.constantFrom(...ids),
      fc.oneof(fc.constant('{"gpu_model":"H200"}'), jsonText()),
      fc.oneof(fc.constant('[]'), jsonText()),
    )
    .map(
      ([id, offer, options]) =>
        `{"listing_id":${JSON.stringify(id)},"offer_resource":${offer},"settlement_options":${options}}`,
    )

const rotation = (): string =>
  JSON.stringify({
    intent: {
      protocol: 'arkhai.market-identity-rotation.v1',
      current: KEYS[0]!.party,
      replacement: KEYS[1]!.party,
      subject: 'publisher:1',
      authority: 'registry-a',
      nonce: 'n',
      overlap_seconds: 5,
      expires_at: 4_102_444_800,
    },
    current_proof: { scheme: 'ed25519', value: 'A'.repeat(86) },
    replacement_proof: { scheme: 'ed25519', value: 'x' },
  })

/** `mustFail`: what is signed is not the request, so that no signed answer may be a success. */
export async function signDraft(draft: Draft): Promise<FuzzRequest & { mustFail: boolean }> {
  const { method, path, query, body, role, requestId, skew, ifMatch, frame, isSpoiled, headers } = draft
  const { party, sign } = KEYS[draft.key]!
  const { operation, resource } = questionOf(method, path) ?? {
    operation: 'listing.list',
    resource: 'listings',
  }
  const isRead = method === 'GET' || method === 'HEAD'
  const timestamp = String(unixNow() + skew)
  const envelope = {
    role,
    party,
    method,
    operation,
    resource,
    requestId: requestId ?? randomUUID(),
    timestamp,
  }
  const text = isRead ? queryText(new URLSearchParams(query), ifMatch ?? undefined) : body
  const fields = [
    REQUEST_VERSION,
    role,
    party.scheme,
    party.identifier,
    method,
    operation,
    resource,
    envelope.requestId,
    timestamp,
    hashOf(text),
  ]
  const proof = await sign(frame(fields, framed))
  const sent = {
    ...headersOf(REQUEST_VERSION, envelope, proof),
    'content-type': 'application/json',
    ...(ifMatch !== null && { 'if-match': ifMatch }),
    ...Object.fromEntries(headers),
  }
  return {
    kind: 'http',
    method,
    path: query === '' ? path : `${path}?${query}`,
    headers: Object.fromEntries(
      Object.entries(sent).filter((one): one is [string, string] => one[1] !== null),
    ),
    body: isRead ? null : Buffer.from(body),
    template: null,
    mustFail: isSpoiled,
  }
}

/** Of a body without a canonical form any hash. */
function hashOf(text: string): string {
  try {
    return bodyHashOf(text) ?? '0'.repeat(64)
  } catch {
    return '0'.repeat(64)
  }
}
