import { ANONYMOUS, type ApiKey, type Reader } from '../../domain/api-key.ts'
import { EntrepotError } from '../../errors.ts'
import type { Gate } from '../route.ts'

type Gates = {
  requireReadKey: boolean
  requireWriteKey: boolean
  keysRevealMore: boolean
  /** `null` closes the admin routes. */
  isAdminKey: ((token: string) => boolean) | null
  recognise: (token: string) => ApiKey | null
}

/** docs/protocol.md#2-api-keys. Ignores an invalid token if no gate is on and no source is private. */
export const createAuthorize =
  (gates: Gates) =>
  (gate: Gate, authorization: string | undefined): Reader => {
    if (gate === 'none') return ANONYMOUS
    const token = bearerToken(authorization)
    if (gate === 'admin') return authorizeAdmin(token, gates)
    const required = gate === 'read' ? gates.requireReadKey : gates.requireWriteKey
    const key = token === null ? null : gates.recognise(token)
    if (required && token === null) throw unauthorized('API key required')
    if (token !== null && key === null && (required || gates.keysRevealMore))
      throw unauthorized('Invalid or revoked API key')
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

const unauthorized = (detail: string): EntrepotError => new EntrepotError('unauthorized', detail)
