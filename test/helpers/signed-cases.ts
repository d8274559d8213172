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

/** Refusals of a read before and during authentication, in the order of the checks. */
export const READ_REFUSALS: readonly SignedCase[] = [
  { title: 'unknown path', path: '/nowhere', expected: unsigned(404) },
  { title: 'open without a signature', path: '/health', expected: unsigned(200) },
  { title: 'limit is no integer', path: '/listings?limit=x', expected: unsigned(422) },
  { title: 'number of a publisher is no integer', path: '/publishers/x', expected: unsigned(422) },
  { title: 'unknown role', changes: header('role', 'Buyer'), expected: unsigned(401, 'context_mismatch') },
  { title: 'no role', changes: header('role', null), expected: unsigned(401, 'context_mismatch') },
  {
    title: 'unknown scheme',
    changes: header('identity-scheme', 'rsa'),
    expected: unsigned(401, 'malformed_envelope'),
  },
  {
    title: 'identifier of another spelling',
    changes: header('identity-identifier', `${'A'.repeat(42)}B`),
    expected: unsigned(401, 'malformed_envelope'),
  },
  {
    title: 'bad role and bad scheme: the role is looked at first',
    changes: { headers: { 'x-market-role': 'x', 'x-market-identity-scheme': 'rsa' } },
    expected: unsigned(401, 'context_mismatch'),
  },
  {
    title: 'wallet without 0x',
    changes: { key: SELLER, ...header('identity-identifier', SELLER.party.identifier.slice(2)) },
    expected: unsigned(401, 'malformed_envelope'),
  },
  {
    title: 'bad scheme and other version: the scheme is looked at first',
    changes: { headers: { 'x-market-identity-scheme': 'rsa', 'x-market-signature-version': 'v1' } },
    expected: unsigned(401, 'malformed_envelope'),
  },
  {
    title: 'other version and no proof: the version is looked at first',
    changes: { headers: { 'x-market-signature-version': 'v1', 'x-market-signature': null } },
    expected: unsigned(401, 'unsupported_version'),
  },
  {
    title: 'other version',
    changes: header('signature-version', 'arkhai.market-request-signature.v1'),
    expected: unsigned(401, 'unsupported_version'),
  },
  {
    title: 'request id of another form',
    changes: { requestId: '-a' },
    expected: unsigned(401, 'malformed_envelope'),
  },
  {
    title: 'request id too long',
    changes: { requestId: 'a'.repeat(129) },
    expected: unsigned(401, 'malformed_envelope'),
  },
  ...['1.5', '-1', '1e9', '', String(2n ** 63n), '9'.repeat(5000)].map((value) => ({
    title: `timestamp ${value.slice(0, 20)}`,
    changes: header('timestamp', value),
    expected: unsigned(401, 'malformed_envelope'),
  })),
  { title: 'no proof', changes: header('signature', null), expected: unsigned(401, 'malformed_envelope') },
  {
    title: 'padded proof',
    changes: header('signature', `${'A'.repeat(86)}==`),
    expected: unsigned(401, 'malformed_envelope'),
  },
  {
    title: 'proof of the other scheme',
    changes: header('signature', `0x${'00'.repeat(65)}`),
    expected: unsigned(401, 'malformed_envelope'),
  },
  {
    title: 'wallet, proof in upper case',
    changes: { key: SELLER, ...header('signature', `0x${'AB'.repeat(65)}`) },
    expected: unsigned(401, 'malformed_envelope'),
  },
  {
    title: 'id of a listing with more than 1,024 characters',
    path: `/listings/${'a'.repeat(1025)}`,
    expected: unsigned(401, 'malformed_envelope'),
  },
  ...[-400, 400].map((seconds) => ({
    title: `clock off by ${seconds} s`,
    changes: { timestamp: secondsNow(seconds) },
    expected: unsigned(401, 'timestamp_skew'),
  })),
  {
    title: 'old, and badly signed',
    changes: { timestamp: '1', key: { ...SELLER, party: STRANGER.party } },
    expected: unsigned(401, 'timestamp_skew'),
  },
  {
    title: 'another operation',
    changes: { operation: 'publisher.list' },
    expected: unsigned(401, 'invalid_proof'),
  },
  { title: 'another resource', changes: { resource: 'x' }, expected: unsigned(401, 'invalid_proof') },
  {
    title: 'a pair that is not signed',
    changes: { path: '/listings?limit=1&status=' },
    expected: unsigned(401, 'invalid_proof'),
  },
  {
    title: 'another role',
    changes: header('role', 'service'),
    expected: unsigned(401, 'invalid_proof'),
  },
  {
    title: 'another request id',
    changes: header('request-id', 'other'),
    expected: unsigned(401, 'invalid_proof'),
  },
  {
    title: 'another principal',
    changes: { key: { ...SELLER, party: STRANGER.party } },
    expected: unsigned(401, 'invalid_proof'),
  },
  { title: 'unknown listing', path: '/listings/absent', expected: signed(404, 'Listing not found') },
  {
    title: 'half a principal',
    path: '/listings?publisher_scheme=eip191',
    expected: signed(400, 'publisher_scheme and publisher_identifier are required together'),
  },
  {
    title: 'a malformed principal',
    path: '/listings?publisher_scheme=eip191&publisher_identifier=0x1',
    expected: signed(400, 'Invalid publisher principal'),
  },
  {
    title: 'half a principal of a publisher',
    path: '/publishers?identifier=0x1',
    expected: signed(400, 'scheme and identifier are required together'),
  },
  {
    title: 'the filter of the plain line',
    path: '/listings?publisher=x',
    expected: signed(400, "unknown filter: 'publisher'"),
  },
  ...['"x"', 'W/"x"', ' W/ "x"', 'w/"x"', '*', ''].map((etag) => ({
    title: `stale etag ${etag}`,
    changes: { headers: { 'if-match': etag } },
    expected: signed(412),
  })),
  {
    title: 'unknown listing with a blank',
    path: '/listings/a%20b',
    expected: signed(404, 'Listing not found'),
  },
  { title: 'unknown publisher', path: '/publishers/999999', expected: signed(404, 'Publisher not found') },
]

/** Forms that are accepted, of a read. */
export const READ_FORMS: readonly SignedCase[] = [
  ...[-200, 200].map((seconds) => ({
    title: `clock off by ${seconds} s`,
    changes: { timestamp: secondsNow(seconds) },
    expected: signed(200),
  })),
  ...['\xa0', '+', '00'].map((before) => ({
    title: `timestamp behind ${JSON.stringify(before)}`,
    changes: { timestamp: secondsNow(), ...header('timestamp', `${before}${secondsNow()}`) },
    expected: signed(200),
  })),
  { title: 'wallet', changes: { key: SELLER }, expected: signed(200) },
  ...['buyer', 'seller', 'service'].map((role) => ({
    title: `as ${role}`,
    changes: { role },
    expected: signed(200),
  })),
  {
    title: 'wallet in upper case',
    changes: {
      key: SELLER,
      ...header('identity-identifier', `0x${SELLER.party.identifier.slice(2).toUpperCase()}`),
    },
    expected: signed(200),
  },
  ...['/publishers', '/filter-spec', '/api/v1/system/health', '/api/v1/system/stats'].map((path) => ({
    title: path,
    path,
    expected: signed(200),
  })),
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
  { title: 'empty and repeated values', path: '/listings?status=&limit=2&limit=1', expected: signed(200) },
  {
    title: 'a request id with all its characters',
    changes: { requestId: `${randomUUID()}_.:-A` },
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
