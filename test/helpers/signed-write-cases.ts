import { randomUUID } from 'node:crypto'
import { SELLER, type SignedCase, STRANGER, signed, unsigned } from './signed-cases.ts'
import { ed25519Key, type Key, type Party, rotationBody } from './signed-line.ts'
import { type Changes, type SignedReply, sendSigned } from './signed-reader.ts'

const LISTING = {
  listing_id: 'case',
  storefront_url: 'http://storefront.example/',
  offer_resource: { gpu_model: 'H200', region: 'Reykjavik, IS' },
  accepted_escrows: [],
  settlement_options: [],
  demands: [],
  max_duration_seconds: null,
}
const mine: Changes = { key: SELLER }

/** A request as the seller, whose headers or body may be changed. */
const row = (
  title: string,
  request: string,
  expected: SignedCase['expected'],
  { body, ...changes }: Omit<Changes, 'body'> & { body?: unknown } = {},
): SignedCase => {
  const [method = '', path = ''] = request.split(' ')
  return { title, method, path, body, changes: { ...mine, ...changes }, expected }
}
const published = (
  title: string,
  expected: SignedCase['expected'],
  body: unknown,
  changes: Changes = {},
) => ({
  ...row(title, 'POST /listings', expected, { body }),
  changes: { ...mine, ...changes },
})

/** Writes in order: each sees what those before have stored. */
export const WRITES: readonly SignedCase[] = [
  row('wrong method', 'PATCH /listings', unsigned(405)),
  row('etag before all else', 'GET /listings?status=x&publisher_scheme=eip191', signed(412), {
    headers: { 'if-match': '"x"' },
  }),
  published('no JSON', unsigned(422), {}, { body: '{' }),
  published('bytes that are no UTF-8', unsigned(400), {}, { body: Buffer.from([0x22, 0xff, 0x22]) }),
  ...['{"a":9007199254740993}', '{"a":"\\ud800"}', '{"a":1e400}'].map((body) =>
    published(`no canonical form: ${body}`, unsigned(400, 'Body is not canonical JSON'), {}, { body }),
  ),
  published('another body', unsigned(401, 'invalid_proof'), LISTING, {
    body: JSON.stringify({ ...LISTING, listing_id: 'x' }),
  }),
  ...[
    'POST /listings',
    'PUT /listings/absent',
    'POST /publishers/999999/identity-rotations',
    'POST /publishers/999999/identity-rotations/n/retire',
  ].map((request) =>
    row(`${request} as buyer`, request, signed(403, 'role_not_authorized'), {
      role: 'buyer',
      ...(request.endsWith('retire') ? {} : { body: {} }),
    }),
  ),
  published('no listing_id', signed(400), { offer_resource: {} }),
  published('listing_id is a number', signed(400), { listing_id: 5 }),
  published('unknown status', signed(400), { ...LISTING, status: 'gone' }),
  published('published', signed(201), LISTING),
  published('published again, with other spacing', signed(201), LISTING, {
    body: JSON.stringify(LISTING, null, 1),
  }),
  published('the id of another publisher', signed(403, 'Listing is owned by another publisher'), LISTING, {
    key: STRANGER,
  }),
  row(
    'update of another publisher',
    'PUT /listings/case',
    signed(403, 'Publisher principal does not own listing'),
    { body: { status: 'closed' }, key: STRANGER },
  ),
  row('update of an unknown listing', 'PUT /listings/absent', signed(404, 'Listing not found'), {
    body: { status: 'closed' },
  }),
  row('updated', 'PUT /listings/case', signed(200), { body: { status: 'closed' } }),
  row('validated', 'POST /api/v1/listings/validate-publish', signed(200), {
    body: { listing_id: 'case', offer_resource: LISTING.offer_resource },
  }),
  row('delete as service', 'DELETE /listings/case', signed(403, 'role_not_authorized'), { role: 'service' }),
  row('deleted', 'DELETE /listings/case', signed(204)),
  row('deleted again', 'DELETE /listings/case', signed(404, 'Listing not found')),
]

/** One id for several questions. Gives the status and the detail of each. */
export async function replaysOf(url: string, authority?: Party): Promise<unknown[]> {
  const by = authority && { authority }
  const requestId = randomUUID()
  const ask = (method: string, path: string, body: unknown, changes: Changes) =>
    sendSigned(url, method, path, body, { ...by, requestId, ...changes })
  const replies: SignedReply[] = [
    await ask('POST', '/listings', { ...LISTING, listing_id: 'replayed' }, mine),
    await ask('POST', '/listings', { ...LISTING, listing_id: 'replayed' }, mine),
    await ask('POST', '/listings', { ...LISTING, listing_id: 'other' }, mine),
    await ask('DELETE', '/listings/replayed', undefined, mine),
    await ask('GET', '/listings', undefined, { ...mine, role: 'seller' }),
    await ask('GET', '/filter-spec', undefined, { key: STRANGER }),
    await ask('GET', '/filter-spec', undefined, {
      key: STRANGER,
      timestamp: String(Math.floor(Date.now() / 1000) - 7),
    }),
    await ask('GET', '/filter-spec', undefined, { key: STRANGER, role: 'service' }),
  ]
  return replies.map(({ status, isSigned, body }) => [status, isSigned, status === 409 ? body.detail : null])
}

/** What `replaysOf` gives. */
export const REPLAYS = [
  [201, true, null],
  [201, true, null],
  [409, true, 'changed_reuse'],
  [409, true, 'changed_reuse'],
  [409, true, 'changed_reuse'],
  [200, true, null],
  [200, true, null],
  [409, true, 'changed_reuse'],
]

const key = (n: number): Key => ed25519Key(Buffer.alloc(32, n))

/** A publisher changes its key, with each refusal of a rotation. Gives the status and the detail of each step. */
export async function rotationsOf(url: string): Promise<unknown[]> {
  const [first, second, third] = [key(21), key(22), key(23)]
  const ask = (method: string, path: string, body: unknown, by: Key) =>
    sendSigned(url, method, path, body, { key: by })
  const published = await ask('POST', '/listings', { ...LISTING, listing_id: 'rotated' }, first)
  const number = Number((published.body as { publisher_id?: unknown }).publisher_id)
  const path = `/publishers/${number}/identity-rotations`
  const subject = `publisher:${number}`
  const rotate = async (by: Key, current: Key, next: Key, intent: object, to = path) =>
    ask('POST', to, await rotationBody(current, next, { subject, nonce: 'r1', ...intent }), by)
  const forged = JSON.parse(await rotationBody(first, second, { subject }))
  forged.replacement_proof.value = forged.current_proof.value
  const expires_at = Math.floor(Date.now() / 1000) + 200
  const replies: SignedReply[] = [
    await rotate(first, first, second, {}, '/publishers/999999/identity-rotations'),
    await ask('POST', path, {}, first),
    await rotate(second, first, second, {}),
    await rotate(first, first, second, { authority: 'another' }),
    await rotate(first, first, second, { subject: 'publisher:999999' }),
    await rotate(first, first, second, { overlap_seconds: 86_401 }),
    await ask('POST', path, forged, first),
    await rotate(first, first, second, { expires_at: 1 }),
    await ask('GET', `${path}/r1`, undefined, third),
    await rotate(first, first, second, { expires_at }),
    await rotate(first, first, second, { expires_at }),
    await rotate(first, first, second, { expires_at, overlap_seconds: 1 }),
    await rotate(first, first, third, { nonce: 'r2' }),
    await ask('GET', `${path}/r1`, undefined, third),
    await ask('PUT', '/listings/rotated', { status: 'closed' }, first),
    await ask('PUT', '/listings/rotated', { status: 'open' }, second),
    await ask('POST', `${path}/r1/retire`, undefined, first),
    await ask('POST', `${path}/absent/retire`, undefined, second),
    await ask('POST', `${path}/r1/retire`, undefined, second),
    await ask('POST', '/listings', { ...LISTING, listing_id: 'rotated' }, first),
    await ask('PUT', '/listings/rotated', { status: 'closed' }, first),
    await rotate(second, second, first, { nonce: 'r3' }),
    await ask('DELETE', '/listings/rotated', undefined, second),
  ]
  return replies.map(({ status, isSigned, body }) => [status, isSigned, status < 300 ? null : body?.detail])
}

/** What `rotationsOf` gives. */
export const ROTATIONS = [
  [404, true, 'Publisher not found'],
  [400, true, 'Malformed rotation request'],
  [403, true, 'Rotation caller is not current principal'],
  [400, true, 'Rotation authority or subject mismatch'],
  [400, true, 'Rotation authority or subject mismatch'],
  [400, true, 'Rotation overlap exceeds registry bound'],
  [401, true, 'Invalid or expired rotation proofs'],
  [401, true, 'Invalid or expired rotation proofs'],
  [404, true, 'Publisher rotation not found'],
  [200, true, null],
  [200, true, null],
  [409, true, 'Rotation nonce intent mismatch'],
  [409, true, 'Publisher already has an active identity overlap'],
  [200, true, null],
  [200, true, null],
  [200, true, null],
  [403, true, 'Only replacement principal may retire'],
  [404, true, 'Publisher rotation not found'],
  [200, true, null],
  [403, true, 'Publisher principal is retired or disabled'],
  [403, true, 'Publisher principal does not own listing'],
  [409, true, 'Replacement principal is already bound'],
  [204, true, null],
]
