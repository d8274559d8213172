import { ANONYMOUS, type ApiKey, type Caller, OPERATOR } from '../../domain/api-key.ts'
import { type Reader, SEES_NOTHING } from '../../domain/reader.ts'
import { formatTimestamp, type Micros } from '../../domain/timestamp.ts'
import { EntrepotError } from '../../errors.ts'
import type { Middleware } from '../request-state.ts'
import type { Gate } from '../route.ts'

export type Authorize = (gate: Gate, authorization: string | undefined) => Caller

/**
 * Refuses requests without the credential that their route requires.
 * @param readerOf what a caller sees
 * @param whenVerifiable `null` while keys can be verified
 */
export function checkGate(
  authorize: Authorize,
  readerOf: (caller: Caller) => Reader,
  whenVerifiable: () => Promise<unknown> | null,
): Middleware {
  return ({ req, state }, next) => {
    const { authorization } = req.headers
    const pass = () => {
      state.caller = authorize(state.route.gate, authorization)
      state.reader = state.route.gate === 'read' ? readerOf(state.caller) : SEES_NOTHING
      return next()
    }
    const isVerifiable = authorization === undefined ? null : whenVerifiable()
    return isVerifiable === null ? pass() : isVerifiable.then(pass)
  }
}

type Gates = {
  requireReadKey: boolean
  requireWriteKey: boolean
  keysRevealMore: boolean
  /** Whether admin keys read: at a gateway, whose operators see all sources. */
  operatorReads: boolean
  /** `null` closes the admin routes, and admin keys of the store open nothing. */
  isAdminKey: ((token: string) => boolean) | null
  /** The key of the settings that opens the metrics. */
  isMetricsKey: (token: string) => boolean
  /** Also a key that has expired; `mayBeRevoked`: also while the store is away. */
  recognise: (token: string, options?: { mayBeRevoked: boolean }) => ApiKey | null
  now: () => Micros
}

/** docs/protocol.md#2-api-keys. Ignores an unreadable, invalid or expired key if no gate is on and no source is private. */
export const createAuthorize =
  (gates: Gates) =>
  (gate: Gate, authorization: string | undefined): Caller => {
    if (gate === 'none') return ANONYMOUS
    const token = bearerToken(authorization)
    if (gate === 'admin') return authorizeAdmin(token, gates)
    if (gate === 'metrics') return authorizeMetrics(token, gates)
    if (gate === 'read' && gates.operatorReads && token !== null && gates.isAdminKey?.(token)) return OPERATOR
    const required = gate === 'read' ? gates.requireReadKey : gates.requireWriteKey
    const active = token === null ? null : activeKey(gates.recognise(token), gates)
    const isAdmin = typeof active !== 'string' && active?.scope === 'admin'
    if (isAdmin && gate === 'read' && gates.operatorReads && gates.isAdminKey !== null)
      return { kind: 'operator', key: active }
    const key = isAdmin ? NO_API_KEY : active
    if (required && key === null) throw unauthorized('API key required')
    if (key === null && gates.keysRevealMore && MISWRITTEN.test(authorization ?? ''))
      throw unauthorized(UNREADABLE)
    if (typeof key === 'string') {
      if (required || gates.keysRevealMore) throw unauthorized(gates.isAdminKey?.(token!) ? NO_API_KEY : key)
      return ANONYMOUS
    }
    if (key?.scope === 'metrics') throw forbidden('An API key with the role metrics opens GET /metrics only')
    if (required && gate === 'write' && key?.scope !== 'write')
      throw forbidden('Write access requires a write-scoped API key')
    return key === null ? ANONYMOUS : { kind: 'key', key }
  }

function authorizeAdmin(token: string | null, gates: Gates): Caller {
  const { isAdminKey, recognise } = gates
  if (isAdminKey === null) throw unauthorized('Admin endpoints disabled — REGISTRY_ADMIN_API_KEY not set')
  if (token !== null && isAdminKey(token)) return OPERATOR
  const key = token === null ? null : recognise(token)
  if (key?.scope === 'admin') {
    const active = activeKey(key, gates)
    if (typeof active === 'string') throw unauthorized(active)
    return { kind: 'operator', key: active }
  }
  throw unauthorized(token === null ? 'Admin bearer token required' : 'Invalid admin token')
}

/** Alerts on the store need metrics while the store is away, and the key of a scraper reveals no listing. */
function authorizeMetrics(token: string | null, gates: Gates): Caller {
  if (token === null) throw unauthorized('Admin key, or API key with the role metrics, required')
  if (gates.isAdminKey?.(token) || gates.isMetricsKey(token)) return OPERATOR
  const key = activeKey(gates.recognise(token, { mayBeRevoked: true }), gates)
  if (typeof key === 'string') throw unauthorized(key)
  if (key.scope === 'admin' && gates.isAdminKey !== null) return { kind: 'operator', key }
  if (key.scope !== 'metrics')
    throw forbidden('Metrics require the admin key, or an API key with the role metrics')
  return { kind: 'key', key }
}

/** A text: why it is refused. */
function activeKey(key: ApiKey | null, { now }: Gates): ApiKey | string {
  if (key === null) return 'Invalid or revoked API key'
  return key.expiresAt === null || key.expiresAt > now() ? key : expired(key.expiresAt)
}

/** Exactly `Bearer `, then the token, trimmed. */
const bearerToken = (authorization: string | undefined): string | null =>
  authorization?.startsWith('Bearer ') ? authorization.slice('Bearer '.length).trim() || null : null

/** `bearer KEY`, `Bearer` without a key, or the key alone. Other schemes may be those of a proxy. */
const MISWRITTEN = /^(bearer\b.*|\S+)$/i

const UNREADABLE =
  'Authorization has no readable API key: write Bearer KEY, case included, or leave the header out'

const expired = (at: Micros): string =>
  `The API key expired on ${formatTimestamp(at).slice(0, DATE_LENGTH)}: ask the operator for a new one`

const DATE_LENGTH = '2026-11-20'.length

const NO_API_KEY = 'The admin key does not open this: mint an API key'

const unauthorized = (detail: string): EntrepotError => new EntrepotError('unauthorized', detail)

const forbidden = (detail: string): EntrepotError => new EntrepotError('forbidden', detail)
