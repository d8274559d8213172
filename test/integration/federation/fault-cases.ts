import { gzipSync } from 'node:zlib'
import {
  type Behaviour,
  envelopeText,
  type FakeRegistry,
  idOf,
  listingText,
  listingTexts,
} from '../../helpers/fake-registry.ts'

/** Timeouts of one attempt, in ms: for slow faults, and for others. */
const SHORT_TIMEOUT_MS = 2000
export const TIMEOUT_MS = 5000
/** For a complete answer. */
export const BUDGET_MS = 6000
const PAST_TIMEOUT_MS = 4000
/** Longer than any test. */
const PAST_BUDGET_MS = 60_000

const BOMB_BYTES = 50 * 1024 * 1024

/** How an upstream of the matrix fails, and what readers see of it. */
export type Fault = {
  /** What it answers. */
  behaviour?: Behaviour
  timeoutMs?: number
  /** The answer takes longer than the test. */
  outlasts?: true
  /** What happens to its listings. */
  change?: (fake: FakeRegistry) => void
  /** Nothing listens; its name, certificate or address is bad; it signs nothing though its key is pinned. */
  way?: 'refused' | 'dns' | 'tls' | 'private' | 'signed'
  /** Of the 200 of a page, those that are read. */
  items?: number
  /** Why it cannot be read. `null`: it can. */
  reason: string | null
  /** Requests for listings until the answer. `null`: they cannot be counted. */
  calls: Calls | null
  /** A refusal also hides what was read before. */
  hides?: true
}

/** The count includes probes in the background. */
type Calls = number | `≤ ${number}`

const TWICE = { calls: 2 } as const
const A_FEW = { calls: '≤ 16' } as const

function answers(behaviour: Behaviour, reason: string, more: Partial<Fault> = {}): Fault {
  return { behaviour, reason, calls: 1, ...more }
}

function status(code: number, reason: string, more: Partial<Fault> = {}): Fault {
  return answers({ kind: 'status', status: code }, reason, more)
}

function body(text: string | Uint8Array, reason: string, headers: Record<string, string> = {}): Fault {
  return answers({ kind: 'body', body: text, headers }, reason)
}

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

/** More than fit on one page, in no order that is promised. */
function reverse(fake: FakeRegistry): void {
  fake.items = listingTexts('unsorted', 2200).reverse()
}

const SIGNED_ONLY = '{"detail":{"code":"context_mismatch"}}'
const BOMB = gzipSync(Buffer.alloc(BOMB_BYTES, ' '))
const IMPATIENT = { timeoutMs: SHORT_TIMEOUT_MS }
const OUTLASTS = { timeoutMs: 2 * PAST_BUDGET_MS, outlasts: true } as const
const HIDES = { hides: true } as const
const MOVED = { location: 'http://127.0.0.1:1/' }

/** By name of the row. */
export const FAULTS = new Map<string, Fault>([
  ['delay past timeout', answers({ kind: 'delay', ms: PAST_TIMEOUT_MS }, 'timeout', IMPATIENT)],
  ['delay past budget', answers({ kind: 'delay', ms: PAST_BUDGET_MS }, 'timeout', OUTLASTS)],
  ['connection refused', { way: 'refused', reason: 'connection_refused', calls: null }],
  ['reset before headers', answers({ kind: 'reset_before_headers' }, 'connection_reset', TWICE)],
  ['reset mid-body', answers({ kind: 'reset_mid_body' }, 'connection_reset', TWICE)],
  ['slow drip', answers({ kind: 'drip', everyMs: 50 }, 'timeout', IMPATIENT)],
  ['200 HTML', body('<!doctype html><title>It works!</title>', 'not_json', { 'content-type': 'text/html' })],
  ['truncated JSON', body(envelopeText([listingText()], 1).slice(0, -40), 'not_json')],
  ['wrong envelope', body('{"listings":[]}', 'bad_envelope')],
  ['wrong item types', body(envelopeText(['7', '[]', 'null', '{"listing_id":7}'], 4), 'bad_envelope')],
  ['401', status(401, 'unauthorized', HIDES)],
  [
    '401, signed requests only',
    answers({ kind: 'status', status: 401, body: SIGNED_ONLY }, 'signed_requests_required', HIDES),
  ],
  ['403', status(403, 'unauthorized', HIDES)],
  ['404', status(404, 'http_404')],
  ['412', status(412, 'http_412')],
  [
    '429 with Retry-After',
    answers({ kind: 'status', status: 429, headers: { 'retry-after': '30' } }, 'rate_limited'),
  ],
  ['500', status(500, 'http_500', A_FEW)],
  ['503', status(503, 'http_503', TWICE)],
  ['redirect', answers({ kind: 'status', status: 302, headers: MOVED }, 'http_302')],
  ['50 MB body', answers({ kind: 'huge', bytes: BOMB_BYTES }, 'too_large', A_FEW)],
  ['gzip bomb', { ...body(BOMB, 'too_large', { 'content-encoding': 'gzip' }), ...A_FEW }],
  ['one listing answers 500', { change: poisonOne, reason: null, items: 199, calls: '≤ 60' }],
  ['pages of two Registries', { change: splitInTwo, reason: 'unstable', calls: 22 }],
  ['oldest first', { change: reverse, reason: null, calls: 12 }],
  ['repeated pages', answers({ kind: 'same_page', total: 900 }, 'bad_envelope', { calls: 4 })],
  ['DNS failure', { way: 'dns', reason: 'dns', calls: null }],
  ['TLS failure', { way: 'tls', reason: 'tls', calls: null }],
  ['answers without a signature', { way: 'signed', reason: 'bad_signature', calls: 1 }],
  ['private address', { way: 'private', reason: 'private_address', calls: null }],
])

/** The age of what is held when it fails; `none`: it fails from the start. */
export type Kept = 'none' | 'fresh' | 'stale'

/** One row: the answer to a query of this upstream alone. */
export type FaultCase = readonly [kept: Kept, fault: string, ...Answer]

export const FAULT_CASES: readonly FaultCase[] = (['none', 'fresh', 'stale'] as const).flatMap((kept) =>
  // Nothing is kept of a private address, or without a signature.
  [...FAULTS]
    .filter(([, { way }]) => kept === 'none' || (way !== 'private' && way !== 'signed'))
    .map(([name, fault]) => [kept, name, ...answerTo(kept, fault)] as const),
)

type Answer = readonly [
  status: number,
  complete: boolean | null,
  state: string,
  reason: string | null,
  items: number,
  calls: Calls | null,
]

function answerTo(kept: Kept, { reason, hides, outlasts, items = 200, calls }: Fault): Answer {
  if (reason === null) return [200, true, 'loaded', null, items, calls]
  if (kept === 'none' && outlasts) return [503, null, 'not_yet_loaded', null, 0, calls]
  if (kept === 'none' || hides)
    return [reason === 'timeout' ? 504 : 503, null, 'unavailable', reason, 0, calls]
  // A pull that has not ended yet has not failed.
  if (kept === 'fresh' || outlasts) return [200, true, 'loaded', null, items, calls]
  return [200, true, 'stale', reason, items, calls]
}
