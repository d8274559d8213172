import { gzipSync } from 'node:zlib'
import {
  type Behaviour,
  envelopeText,
  type FakeRegistry,
  idOf,
  listingText,
  listingTexts,
} from '../helpers/fake-registry.ts'

/** Timeouts of one attempt, in ms: for slow faults, and for others. */
const SHORT_TIMEOUT_MS = 2000
export const TIMEOUT_MS = 5000
/** For a complete answer. */
export const BUDGET_MS = 6000
const PAST_TIMEOUT_MS = 4000
/** Longer than any test. */
const PAST_BUDGET_MS = 60_000

const BOMB_BYTES = 50 * 1024 * 1024

/** How an upstream of the matrix fails. */
export type Fault =
  /** What it answers. `outlasts`: the answer takes longer than the test. */
  | { behaviour: Behaviour; timeoutMs?: number; outlasts?: true }
  /** What happens to its listings. */
  | { change: (fake: FakeRegistry) => void }
  /** Nothing listens; its name is unknown; its certificate is not trusted; its name leads to a private address. */
  | { way: 'refused' | 'dns' | 'tls' | 'private' }

const status = (code: number, headers: Record<string, string> = {}): Fault => ({
  behaviour: { kind: 'status', status: code, headers },
})

/** More than `scan_limit`: too many to be sorted for a query. */
const UNSORTED = 2200

const body = (text: string | Uint8Array, headers: Record<string, string> = {}): Fault => ({
  behaviour: { kind: 'body', body: text, headers },
})

function poisonOne(fake: FakeRegistry): void {
  fake.failing = new Set([idOf(fake.items[7]!)])
}

/** All pages but the first are another Registry's, whose listings are all older. */
function splitInTwo(fake: FakeRegistry): void {
  const { items } = fake
  const others = listingTexts('other', 1800).slice(-900)
  fake.beforePage = () => {
    const { parameters } = fake.requests.at(-1)!
    fake.items = parameters.get('offset') === '0' ? items : others
  }
}

/** By name of the row. */
export const FAULTS = {
  'delay past timeout': { behaviour: { kind: 'delay', ms: PAST_TIMEOUT_MS }, timeoutMs: SHORT_TIMEOUT_MS },
  'delay past budget': {
    behaviour: { kind: 'delay', ms: PAST_BUDGET_MS },
    timeoutMs: 2 * PAST_BUDGET_MS,
    outlasts: true,
  },
  'connection refused': { way: 'refused' },
  'reset before headers': { behaviour: { kind: 'reset_before_headers' } },
  'reset mid-body': { behaviour: { kind: 'reset_mid_body' } },
  'slow drip': { behaviour: { kind: 'drip', everyMs: 50 }, timeoutMs: SHORT_TIMEOUT_MS },
  '200 HTML': body('<!doctype html><title>It works!</title>', { 'content-type': 'text/html' }),
  'truncated JSON': body(envelopeText([listingText()], 1).slice(0, -40)),
  'wrong envelope': body('{"listings":[]}'),
  'wrong item types': body(envelopeText(['7', '[]', 'null', '{"listing_id":7}'], 4)),
  '401': status(401),
  '401, signed requests only': {
    behaviour: { kind: 'status', status: 401, body: '{"detail":{"code":"context_mismatch"}}' },
  },
  '403': status(403),
  '404': status(404),
  '412': status(412),
  '429 with Retry-After': status(429, { 'retry-after': '30' }),
  '500': status(500),
  '503': status(503),
  redirect: status(302, { location: 'http://127.0.0.1:1/' }),
  '50 MB body': { behaviour: { kind: 'huge', bytes: BOMB_BYTES } },
  'gzip bomb': body(gzipSync(Buffer.alloc(BOMB_BYTES, ' ')), { 'content-encoding': 'gzip' }),
  'one listing answers 500': { change: poisonOne },
  'pages of two Registries': { change: splitInTwo },
  'oldest first': {
    change: (fake) => {
      fake.items = listingTexts('unsorted', UNSORTED).reverse()
    },
  },
  'repeated pages': { behaviour: { kind: 'same_page', total: 900 } },
  'DNS failure': { way: 'dns' },
  'TLS failure': { way: 'tls' },
  'private address': { way: 'private' },
} as const satisfies Record<string, Fault>

export type FaultName = keyof typeof FAULTS

/** The age of the cached Reading when it fails; `none`: it fails from the start. */
export type Kept = 'none' | 'fresh' | 'stale'

/** One row: the answer to a query of this upstream alone. */
export type FaultCase = readonly [
  mode: 'live' | 'snapshot',
  kept: Kept,
  fault: FaultName,
  status: number,
  complete: boolean | null,
  state: string,
  reason: string | null,
  items: number,
  /** Requests for listings from its failure to the answer; `null` where they cannot be counted. */
  calls: number | AtMost | null,
]

/** The count includes probes in the background. */
type AtMost = `≤ ${number}`

// biome-ignore format: a table, one row a case.
export const FAULT_CASES: readonly FaultCase[] = [
  ['live', 'none', 'delay past timeout', 504, null, 'unavailable', 'timeout', 0, 1],
  ['live', 'none', 'delay past budget', 504, null, 'unavailable', 'timeout', 0, 1],
  ['live', 'none', 'connection refused', 503, null, 'unavailable', 'connection_refused', 0, null],
  ['live', 'none', 'reset before headers', 503, null, 'unavailable', 'connection_reset', 0, 2],
  ['live', 'none', 'reset mid-body', 503, null, 'unavailable', 'connection_reset', 0, 2],
  ['live', 'none', 'slow drip', 504, null, 'unavailable', 'timeout', 0, 1],
  ['live', 'none', '200 HTML', 503, null, 'unavailable', 'not_json', 0, 1],
  ['live', 'none', 'truncated JSON', 503, null, 'unavailable', 'not_json', 0, 1],
  ['live', 'none', 'wrong envelope', 503, null, 'unavailable', 'bad_envelope', 0, 1],
  ['live', 'none', 'wrong item types', 503, null, 'unavailable', 'bad_envelope', 0, 1],
  ['live', 'none', '401', 503, null, 'unavailable', 'unauthorized', 0, 1],
  ['live', 'none', '401, signed requests only', 503, null, 'unavailable', 'signed_requests_required', 0, 1],
  ['live', 'none', '403', 503, null, 'unavailable', 'unauthorized', 0, 1],
  ['live', 'none', '404', 503, null, 'unavailable', 'http_404', 0, 1],
  ['live', 'none', '412', 503, null, 'unavailable', 'http_412', 0, 1],
  ['live', 'none', '429 with Retry-After', 503, null, 'unavailable', 'rate_limited', 0, 1],
  ['live', 'none', '500', 503, null, 'unavailable', 'http_500', 0, '≤ 12'],
  ['live', 'none', '503', 503, null, 'unavailable', 'http_503', 0, 2],
  ['live', 'none', 'redirect', 503, null, 'unavailable', 'http_302', 0, 1],
  ['live', 'none', '50 MB body', 503, null, 'unavailable', 'too_large', 0, '≤ 12'],
  ['live', 'none', 'gzip bomb', 503, null, 'unavailable', 'too_large', 0, '≤ 12'],
  ['live', 'none', 'one listing answers 500', 200, true, 'loaded', null, 199, '≤ 60'],
  ['live', 'none', 'pages of two Registries', 503, null, 'unavailable', 'unstable', 0, 21],
  ['live', 'none', 'oldest first', 503, null, 'unavailable', 'unsorted', 0, 1],
  ['live', 'none', 'repeated pages', 503, null, 'unavailable', 'bad_envelope', 0, 4],
  ['live', 'none', 'DNS failure', 503, null, 'unavailable', 'dns', 0, null],
  ['live', 'none', 'TLS failure', 503, null, 'unavailable', 'tls', 0, null],
  ['live', 'none', 'private address', 503, null, 'unavailable', 'private_address', 0, null],
  ['live', 'fresh', 'delay past timeout', 200, true, 'loaded', null, 200, 0],
  ['live', 'fresh', 'delay past budget', 200, true, 'loaded', null, 200, 0],
  ['live', 'fresh', 'connection refused', 200, true, 'loaded', null, 200, null],
  ['live', 'fresh', 'reset before headers', 200, true, 'loaded', null, 200, 0],
  ['live', 'fresh', 'reset mid-body', 200, true, 'loaded', null, 200, 0],
  ['live', 'fresh', 'slow drip', 200, true, 'loaded', null, 200, 0],
  ['live', 'fresh', '200 HTML', 200, true, 'loaded', null, 200, 0],
  ['live', 'fresh', 'truncated JSON', 200, true, 'loaded', null, 200, 0],
  ['live', 'fresh', 'wrong envelope', 200, true, 'loaded', null, 200, 0],
  ['live', 'fresh', 'wrong item types', 200, true, 'loaded', null, 200, 0],
  ['live', 'fresh', '401', 200, true, 'loaded', null, 200, 0],
  ['live', 'fresh', '401, signed requests only', 200, true, 'loaded', null, 200, 0],
  ['live', 'fresh', '403', 200, true, 'loaded', null, 200, 0],
  ['live', 'fresh', '404', 200, true, 'loaded', null, 200, 0],
  ['live', 'fresh', '412', 200, true, 'loaded', null, 200, 0],
  ['live', 'fresh', '429 with Retry-After', 200, true, 'loaded', null, 200, 0],
  ['live', 'fresh', '500', 200, true, 'loaded', null, 200, 0],
  ['live', 'fresh', '503', 200, true, 'loaded', null, 200, 0],
  ['live', 'fresh', 'redirect', 200, true, 'loaded', null, 200, 0],
  ['live', 'fresh', '50 MB body', 200, true, 'loaded', null, 200, 0],
  ['live', 'fresh', 'gzip bomb', 200, true, 'loaded', null, 200, 0],
  ['live', 'fresh', 'one listing answers 500', 200, true, 'loaded', null, 200, 0],
  ['live', 'fresh', 'pages of two Registries', 200, true, 'loaded', null, 200, 0],
  ['live', 'fresh', 'oldest first', 200, true, 'loaded', null, 200, 0],
  ['live', 'fresh', 'repeated pages', 200, true, 'loaded', null, 200, 0],
  ['live', 'fresh', 'DNS failure', 200, true, 'loaded', null, 200, null],
  ['live', 'fresh', 'TLS failure', 200, true, 'loaded', null, 200, null],
  ['live', 'stale', 'delay past timeout', 200, true, 'stale', 'timeout', 200, 1],
  ['live', 'stale', 'delay past budget', 200, true, 'stale', 'timeout', 200, 1],
  ['live', 'stale', 'connection refused', 200, true, 'stale', 'connection_refused', 200, null],
  ['live', 'stale', 'reset before headers', 200, true, 'stale', 'connection_reset', 200, 2],
  ['live', 'stale', 'reset mid-body', 200, true, 'stale', 'connection_reset', 200, 2],
  ['live', 'stale', 'slow drip', 200, true, 'stale', 'timeout', 200, 1],
  ['live', 'stale', '200 HTML', 200, true, 'stale', 'not_json', 200, 1],
  ['live', 'stale', 'truncated JSON', 200, true, 'stale', 'not_json', 200, 1],
  ['live', 'stale', 'wrong envelope', 200, true, 'stale', 'bad_envelope', 200, 1],
  ['live', 'stale', 'wrong item types', 200, true, 'stale', 'bad_envelope', 200, 1],
  ['live', 'stale', '401', 503, null, 'unavailable', 'unauthorized', 0, 1],
  ['live', 'stale', '401, signed requests only', 503, null, 'unavailable', 'signed_requests_required', 0, 1],
  ['live', 'stale', '403', 503, null, 'unavailable', 'unauthorized', 0, 1],
  ['live', 'stale', '404', 200, true, 'stale', 'http_404', 200, 1],
  ['live', 'stale', '412', 503, null, 'unavailable', 'http_412', 0, 1],
  ['live', 'stale', '429 with Retry-After', 200, true, 'stale', 'rate_limited', 200, 1],
  ['live', 'stale', '500', 200, true, 'stale', 'http_500', 200, '≤ 12'],
  ['live', 'stale', '503', 200, true, 'stale', 'http_503', 200, 2],
  ['live', 'stale', 'redirect', 200, true, 'stale', 'http_302', 200, 1],
  ['live', 'stale', '50 MB body', 200, true, 'stale', 'too_large', 200, '≤ 12'],
  ['live', 'stale', 'gzip bomb', 200, true, 'stale', 'too_large', 200, '≤ 12'],
  ['live', 'stale', 'one listing answers 500', 200, true, 'loaded', null, 199, '≤ 60'],
  ['live', 'stale', 'pages of two Registries', 200, true, 'stale', 'unstable', 200, 21],
  ['live', 'stale', 'oldest first', 200, true, 'stale', 'unsorted', 200, 1],
  ['live', 'stale', 'repeated pages', 200, true, 'stale', 'bad_envelope', 200, 4],
  ['live', 'stale', 'DNS failure', 200, true, 'stale', 'dns', 200, null],
  ['live', 'stale', 'TLS failure', 200, true, 'stale', 'tls', 200, null],
  ['snapshot', 'none', 'delay past timeout', 504, null, 'unavailable', 'timeout', 0, 1],
  ['snapshot', 'none', 'delay past budget', 503, null, 'not_yet_loaded', null, 0, 1],
  ['snapshot', 'none', 'connection refused', 503, null, 'unavailable', 'connection_refused', 0, null],
  ['snapshot', 'none', 'reset before headers', 503, null, 'unavailable', 'connection_reset', 0, 2],
  ['snapshot', 'none', 'reset mid-body', 503, null, 'unavailable', 'connection_reset', 0, 2],
  ['snapshot', 'none', 'slow drip', 504, null, 'unavailable', 'timeout', 0, 1],
  ['snapshot', 'none', '200 HTML', 503, null, 'unavailable', 'not_json', 0, 1],
  ['snapshot', 'none', 'truncated JSON', 503, null, 'unavailable', 'not_json', 0, 1],
  ['snapshot', 'none', 'wrong envelope', 503, null, 'unavailable', 'bad_envelope', 0, 1],
  ['snapshot', 'none', 'wrong item types', 503, null, 'unavailable', 'bad_envelope', 0, 1],
  ['snapshot', 'none', '401', 503, null, 'unavailable', 'unauthorized', 0, 1],
  ['snapshot', 'none', '401, signed requests only', 503, null, 'unavailable', 'signed_requests_required', 0, 1],
  ['snapshot', 'none', '403', 503, null, 'unavailable', 'unauthorized', 0, 1],
  ['snapshot', 'none', '404', 503, null, 'unavailable', 'http_404', 0, 1],
  ['snapshot', 'none', '412', 503, null, 'unavailable', 'http_412', 0, 1],
  ['snapshot', 'none', '429 with Retry-After', 503, null, 'unavailable', 'rate_limited', 0, 1],
  ['snapshot', 'none', '500', 503, null, 'unavailable', 'http_500', 0, '≤ 12'],
  ['snapshot', 'none', '503', 503, null, 'unavailable', 'http_503', 0, 2],
  ['snapshot', 'none', 'redirect', 503, null, 'unavailable', 'http_302', 0, 1],
  ['snapshot', 'none', '50 MB body', 503, null, 'unavailable', 'too_large', 0, '≤ 12'],
  ['snapshot', 'none', 'gzip bomb', 503, null, 'unavailable', 'too_large', 0, '≤ 12'],
  ['snapshot', 'none', 'one listing answers 500', 200, true, 'loaded', null, 199, '≤ 60'],
  ['snapshot', 'none', 'pages of two Registries', 503, null, 'unavailable', 'unstable', 0, 22],
  ['snapshot', 'none', 'oldest first', 200, true, 'loaded', null, 200, 12],
  ['snapshot', 'none', 'repeated pages', 503, null, 'unavailable', 'bad_envelope', 0, 5],
  ['snapshot', 'none', 'DNS failure', 503, null, 'unavailable', 'dns', 0, null],
  ['snapshot', 'none', 'TLS failure', 503, null, 'unavailable', 'tls', 0, null],
  ['snapshot', 'none', 'private address', 503, null, 'unavailable', 'private_address', 0, null],
  ['snapshot', 'fresh', 'delay past timeout', 200, true, 'loaded', null, 200, 1],
  ['snapshot', 'fresh', 'delay past budget', 200, true, 'loaded', null, 200, 1],
  ['snapshot', 'fresh', 'connection refused', 200, true, 'loaded', null, 200, null],
  ['snapshot', 'fresh', 'reset before headers', 200, true, 'loaded', null, 200, 2],
  ['snapshot', 'fresh', 'reset mid-body', 200, true, 'loaded', null, 200, 2],
  ['snapshot', 'fresh', 'slow drip', 200, true, 'loaded', null, 200, 1],
  ['snapshot', 'fresh', '200 HTML', 200, true, 'loaded', null, 200, 1],
  ['snapshot', 'fresh', 'truncated JSON', 200, true, 'loaded', null, 200, 1],
  ['snapshot', 'fresh', 'wrong envelope', 200, true, 'loaded', null, 200, 1],
  ['snapshot', 'fresh', 'wrong item types', 200, true, 'loaded', null, 200, 1],
  ['snapshot', 'fresh', '401', 503, null, 'unavailable', 'unauthorized', 0, 1],
  ['snapshot', 'fresh', '401, signed requests only', 503, null, 'unavailable', 'signed_requests_required', 0, 1],
  ['snapshot', 'fresh', '403', 503, null, 'unavailable', 'unauthorized', 0, 1],
  ['snapshot', 'fresh', '404', 200, true, 'loaded', null, 200, 1],
  ['snapshot', 'fresh', '412', 200, true, 'loaded', null, 200, 1],
  ['snapshot', 'fresh', '429 with Retry-After', 200, true, 'loaded', null, 200, 1],
  ['snapshot', 'fresh', '500', 200, true, 'loaded', null, 200, '≤ 12'],
  ['snapshot', 'fresh', '503', 200, true, 'loaded', null, 200, 2],
  ['snapshot', 'fresh', 'redirect', 200, true, 'loaded', null, 200, 1],
  ['snapshot', 'fresh', '50 MB body', 200, true, 'loaded', null, 200, '≤ 12'],
  ['snapshot', 'fresh', 'gzip bomb', 200, true, 'loaded', null, 200, '≤ 12'],
  ['snapshot', 'fresh', 'one listing answers 500', 200, true, 'loaded', null, 199, '≤ 60'],
  ['snapshot', 'fresh', 'pages of two Registries', 200, true, 'loaded', null, 200, 22],
  ['snapshot', 'fresh', 'oldest first', 200, true, 'loaded', null, 200, 12],
  ['snapshot', 'fresh', 'repeated pages', 200, true, 'loaded', null, 200, 5],
  ['snapshot', 'fresh', 'DNS failure', 200, true, 'loaded', null, 200, null],
  ['snapshot', 'fresh', 'TLS failure', 200, true, 'loaded', null, 200, null],
  ['snapshot', 'stale', 'delay past timeout', 200, true, 'stale', 'timeout', 200, 1],
  ['snapshot', 'stale', 'delay past budget', 200, true, 'stale', null, 200, 1],
  ['snapshot', 'stale', 'connection refused', 200, true, 'stale', 'connection_refused', 200, null],
  ['snapshot', 'stale', 'reset before headers', 200, true, 'stale', 'connection_reset', 200, 2],
  ['snapshot', 'stale', 'reset mid-body', 200, true, 'stale', 'connection_reset', 200, 2],
  ['snapshot', 'stale', 'slow drip', 200, true, 'stale', 'timeout', 200, 1],
  ['snapshot', 'stale', '200 HTML', 200, true, 'stale', 'not_json', 200, 1],
  ['snapshot', 'stale', 'truncated JSON', 200, true, 'stale', 'not_json', 200, 1],
  ['snapshot', 'stale', 'wrong envelope', 200, true, 'stale', 'bad_envelope', 200, 1],
  ['snapshot', 'stale', 'wrong item types', 200, true, 'stale', 'bad_envelope', 200, 1],
  ['snapshot', 'stale', '401', 503, null, 'unavailable', 'unauthorized', 0, 1],
  ['snapshot', 'stale', '401, signed requests only', 503, null, 'unavailable', 'signed_requests_required', 0, 1],
  ['snapshot', 'stale', '403', 503, null, 'unavailable', 'unauthorized', 0, 1],
  ['snapshot', 'stale', '404', 200, true, 'stale', 'http_404', 200, 1],
  ['snapshot', 'stale', '412', 200, true, 'stale', 'http_412', 200, 1],
  ['snapshot', 'stale', '429 with Retry-After', 200, true, 'stale', 'rate_limited', 200, 1],
  ['snapshot', 'stale', '500', 200, true, 'stale', 'http_500', 200, '≤ 12'],
  ['snapshot', 'stale', '503', 200, true, 'stale', 'http_503', 200, 2],
  ['snapshot', 'stale', 'redirect', 200, true, 'stale', 'http_302', 200, 1],
  ['snapshot', 'stale', '50 MB body', 200, true, 'stale', 'too_large', 200, '≤ 12'],
  ['snapshot', 'stale', 'gzip bomb', 200, true, 'stale', 'too_large', 200, '≤ 12'],
  ['snapshot', 'stale', 'one listing answers 500', 200, true, 'loaded', null, 199, '≤ 60'],
  ['snapshot', 'stale', 'pages of two Registries', 200, true, 'stale', 'unstable', 200, 22],
  ['snapshot', 'stale', 'oldest first', 200, true, 'loaded', null, 200, 12],
  ['snapshot', 'stale', 'repeated pages', 200, true, 'stale', 'bad_envelope', 200, 5],
  ['snapshot', 'stale', 'DNS failure', 200, true, 'stale', 'dns', 200, null],
  ['snapshot', 'stale', 'TLS failure', 200, true, 'stale', 'tls', 200, null],
]
