import { randomUUID } from 'node:crypto'
import test from 'ava'
import { startRegistry } from '../../helpers/registry.ts'
import { ALICE, BOB } from '../../helpers/seller.ts'
import { ed25519Key, type Key, rotationBody, walletKey } from '../../helpers/signed-line.ts'
import {
  authorityEnvironment,
  type Changes,
  type SignedReply,
  sendSigned,
} from '../../helpers/signed-reader.ts'

const SELLER = walletKey(ALICE)
const STRANGER = walletKey(BOB)

/** A request, and what a Registry of the signed line answers: the protocol's table, row by row. */
type SignedCase = {
  title: string
  method?: string
  path?: string
  body?: unknown
  changes?: Changes
  /** `detail` where the protocol fixes its text. */
  expected: { status: number; isSigned: boolean; detail?: string }
}

const unsigned = (status: number, detail?: string): SignedCase['expected'] => ({
  status,
  isSigned: false,
  ...(detail !== undefined && { detail }),
})
const signed = (status: number, detail?: string): SignedCase['expected'] => ({
  ...unsigned(status, detail),
  isSigned: true,
})
const header = (name: string, value: string | null): Changes => ({ headers: { [`x-market-${name}`]: value } })

/** Unix seconds as a text. */
const secondsNow = (later = 0): string => String(Math.floor(Date.now() / 1000) + later)

/** Requests that are answered alike, each with what it changes. */
const rows = (expected: SignedCase['expected'], all: Record<string, Changes>): SignedCase[] =>
  Object.entries(all).map(([title, changes]) => ({ title, changes, expected }))
const paths = (expected: SignedCase['expected'], ...all: string[]): SignedCase[] =>
  all.map((path) => ({ title: path.slice(0, 80), path, expected }))
const each = (title: string, values: readonly string[], changesOf: (value: string) => Changes) =>
  Object.fromEntries(values.map((value) => [`${title} ${value.slice(0, 20)}`, changesOf(value)]))

const IMPOSTOR = { ...SELLER, party: STRANGER.party }
const WALLET = SELLER.party.identifier

/** Refusals of a read before and during authentication, in the order of the checks. */
const READ_REFUSALS: readonly SignedCase[] = [
  ...paths(unsigned(404), '/nowhere'),
  { title: 'open without a signature', path: '/health', expected: unsigned(200) },
  ...paths(unsigned(422), '/listings?limit=x', '/publishers/x'),
  ...rows(unsigned(401, 'context_mismatch'), {
    'unknown role': header('role', 'Buyer'),
    'no role': header('role', null),
    'the role is looked at before the scheme': {
      headers: { 'x-market-role': 'x', 'x-market-identity-scheme': 'rsa' },
    },
  }),
  ...rows(unsigned(401, 'malformed_envelope'), {
    'unknown scheme': header('identity-scheme', 'rsa'),
    'identifier of another spelling': header('identity-identifier', `${'A'.repeat(42)}B`),
    'wallet without 0x': { key: SELLER, ...header('identity-identifier', WALLET.slice(2)) },
    'the scheme is looked at before the version': {
      headers: { 'x-market-identity-scheme': 'rsa', 'x-market-signature-version': 'v1' },
    },
  }),
  ...rows(unsigned(401, 'unsupported_version'), {
    'the version is looked at before the proof': {
      headers: { 'x-market-signature-version': 'v1', 'x-market-signature': null },
    },
    'other version': header('signature-version', 'arkhai.market-request-signature.v1'),
  }),
  ...rows(unsigned(401, 'malformed_envelope'), {
    'request id of another form': { requestId: '-a' },
    'request id too long': { requestId: 'a'.repeat(129) },
    ...each('timestamp', ['1.5', '-1', '1e9', '', String(2n ** 63n), '9'.repeat(5000)], (value) =>
      header('timestamp', value),
    ),
    'no proof': header('signature', null),
    'padded proof': header('signature', `${'A'.repeat(86)}==`),
    'proof of the other scheme': header('signature', `0x${'00'.repeat(65)}`),
    'wallet, proof in upper case': { key: SELLER, ...header('signature', `0x${'AB'.repeat(65)}`) },
  }),
  ...paths(unsigned(401, 'malformed_envelope'), `/listings/${'a'.repeat(1025)}`),
  ...rows(unsigned(401, 'timestamp_skew'), {
    'clock behind': { timestamp: secondsNow(-400) },
    'clock ahead': { timestamp: secondsNow(400) },
    'old, and badly signed': { timestamp: '1', key: IMPOSTOR },
  }),
  ...rows(unsigned(401, 'invalid_proof'), {
    'another operation': { operation: 'publisher.list' },
    'another resource': { resource: 'x' },
    'a pair that is not signed': { path: '/listings?limit=1&status=' },
    'another role': header('role', 'service'),
    'another request id': header('request-id', 'other'),
    'another principal': { key: IMPOSTOR },
  }),
  ...paths(signed(404, 'Listing not found'), '/listings/absent', '/listings/a%20b'),
  ...paths(
    signed(400, 'publisher_scheme and publisher_identifier are required together'),
    '/listings?publisher_scheme=eip191',
  ),
  ...paths(
    signed(400, 'Invalid publisher principal'),
    '/listings?publisher_scheme=eip191&publisher_identifier=0x1',
  ),
  ...paths(signed(400, 'scheme and identifier are required together'), '/publishers?identifier=0x1'),
  ...paths(signed(400, "unknown filter: 'publisher'"), '/listings?publisher=x'),
  ...rows(
    signed(412),
    each('stale etag', ['"x"', 'W/"x"', ' W/ "x"', 'w/"x"', '*', ''], (etag) => ({
      headers: { 'if-match': etag },
    })),
  ),
  ...paths(signed(404, 'Publisher not found'), '/publishers/999999'),
]

/** Forms that are accepted, of a read. */
const READ_FORMS: readonly SignedCase[] = [
  ...rows(signed(200), {
    'clock behind': { timestamp: secondsNow(-200) },
    'clock ahead': { timestamp: secondsNow(200) },
    ...each('timestamp behind', ['\xa0', '+', '00'], (before) => ({
      timestamp: secondsNow(),
      ...header('timestamp', `${before}${secondsNow()}`),
    })),
    wallet: { key: SELLER },
    ...each('as', ['buyer', 'seller', 'service'], (role) => ({ role })),
    'wallet in upper case': {
      key: SELLER,
      ...header('identity-identifier', `0x${WALLET.slice(2).toUpperCase()}`),
    },
    'a request id with all its characters': { requestId: `${randomUUID()}_.:-A` },
  }),
  ...paths(signed(200), '/publishers', '/filter-spec', '/api/v1/system/health', '/api/v1/system/stats'),
  ...paths(signed(200), '/listings?status=&limit=2&limit=1'),
  {
    title: 'an etag where none is looked at',
    path: '/filter-spec',
    changes: { headers: { 'if-match': '"x"' } },
    expected: signed(200),
  },
  {
    title: 'pairs in another order',
    changes: { path: '/listings?limit=1&status=open' },
    path: '/listings?status=open&limit=1',
    expected: signed(200),
  },
]

/** Sends a case, and gives what its row expects. */
async function outcomeOf(
  url: string,
  { method = 'GET', path = '/listings?limit=1', body, changes, expected }: SignedCase,
): Promise<SignedCase['expected']> {
  const reply = await sendSigned(url, method, path, body, changes)
  const { status, isSigned } = reply
  const detail = expected.detail === undefined ? {} : { detail: String(reply.body?.detail) }
  return { status, isSigned, ...detail }
}

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
const WRITES: readonly SignedCase[] = [
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
async function replaysOf(url: string): Promise<unknown[]> {
  const requestId = randomUUID()
  const ask = (method: string, path: string, body: unknown, changes: Changes) =>
    sendSigned(url, method, path, body, { requestId, ...changes })
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
const REPLAYS = [
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
async function rotationsOf(url: string): Promise<unknown[]> {
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
const ROTATIONS = [
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

test('signed line: the service answers every row of the table of the protocol', async (t) => {
  const { url } = await startRegistry(t, { environment: authorityEnvironment(t) })
  for (const one of [...READ_REFUSALS, ...READ_FORMS, ...WRITES])
    t.deepEqual(await outcomeOf(url, one), one.expected, one.title)
  t.deepEqual(await replaysOf(url), REPLAYS)
  t.deepEqual(await rotationsOf(url), ROTATIONS)
})
