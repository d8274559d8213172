import { ANONYMOUS, type ApiKey, type Reader } from '../../domain/api-key.ts'
import { formatTimestamp, type Micros } from '../../domain/timestamp.ts'
import { EntrepotError } from '../../errors.ts'
import type { Gate } from '../route.ts'

type Gates = {
  requireReadKey: boolean
  requireWriteKey: boolean
  keysRevealMore: boolean
  /** `null` closes the admin routes. */
  isAdminKey: ((token: string) => boolean) | null
  /** Also a key that has expired. */
  recognise: (token: string) => ApiKey | null
  now: () => Micros
}

/** docs/protocol.md#2-api-keys. Ignores an invalid or expired token if no gate is on and no source is private. */
export const createAuthorize =
  (gates: Gates) =>
  (gate: Gate, authorization: string | undefined): Reader => {
    if (gate === 'none') return ANONYMOUS
    const token = bearerToken(authorization)
    if (gate === 'admin') return authorizeAdmin(token, gates)
    const required = gate === 'read' ? gates.requireReadKey : gates.requireWriteKey
    const known = token === null ? null : gates.recognise(token)
    const expiredAt =
      known !== null && known.expiresAt !== null && known.expiresAt <= gates.now() ? known.expiresAt : null
    const key = expiredAt === null ? known : null
    if (required && token === null) throw unauthorized('API key required')
    if (token !== null && key === null && (required || gates.keysRevealMore))
      throw unauthorized(expiredAt === null ? 'Invalid or revoked API key' : expired(expiredAt))
    if (required && gate === 'write' && key?.scope !== 'write')
      throw new EntrepotError('forbidden', 'Write access requires a write-scoped API key')
    return key === null ? ANONYMOUS : { kind: 'key', key }
  }

function authorizeAdmin(token: string | null, { isAdminKey }: Gates): Reader {
  if (isAdminKey === null) throw unauthorized('Admin endpoints disabled — REGISTRY_ADMIN_API_KEY not set')
  if (token === null) throw unauthorized('Admin bearer token required')
  if (!isAdminKey(token)) throw unauthorized('Invalid admin token')
  return ANONYMOUS
}

/** Exactly `Bearer `, then the token, trimmed. */
const bearerToken = (authorization: string | undefined): string | null =>
  authorization?.startsWith('Bearer ') ? authorization.slice('Bearer '.length).trim() || null : null

const expired = (at: Micros): string =>
  `The API key expired on ${formatTimestamp(at).slice(0, DATE_LENGTH)}: ask the operator for a new one`

const DATE_LENGTH = '2026-11-20'.length

const unauthorized = (detail: string): EntrepotError => new EntrepotError('unauthorized', detail)
