import { randomUUID } from 'node:crypto'
import { ALICE, BOB } from './seller.ts'
import { type Party, walletKey } from './signed-line.ts'
import { type Changes, sendSigned } from './signed-reader.ts'

export const SELLER = walletKey(ALICE)
export const STRANGER = walletKey(BOB)

/** A request, and what a Registry of the signed line answers: the protocol's table, row by row. */
export type SignedCase = {
  title: string
  method?: string
  path?: string
  body?: unknown
  changes?: Changes
  /** `detail` where the protocol fixes its text. */
  expected: { status: number; isSigned: boolean; detail?: string }
}

export const unsigned = (status: number, detail?: string): SignedCase['expected'] => ({
  status,
  isSigned: false,
  ...(detail !== undefined && { detail }),
})
export const signed = (status: number, detail?: string): SignedCase['expected'] => ({
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
export const READ_REFUSALS: readonly SignedCase[] = [
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
export const READ_FORMS: readonly SignedCase[] = [
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
export async function outcomeOf(
  url: string,
  { method = 'GET', path = '/listings?limit=1', body, changes = {}, expected }: SignedCase,
  authority?: Party,
): Promise<SignedCase['expected']> {
  const reply = await sendSigned(url, method, path, body, { ...(authority && { authority }), ...changes })
  const { status, isSigned } = reply
  const detail = expected.detail === undefined ? {} : { detail: String(reply.body?.detail) }
  return { status, isSigned, ...detail }
}
