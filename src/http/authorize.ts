import { ANONYMOUS, type ApiKey, type Reader } from '../domain/api-key.ts'
import { EntrepotError } from '../errors.ts'
import type { Gate } from './exchange.ts'

type Gates = {
  requireReadKey: boolean
  requireWriteKey: boolean
  /** Whether a key shows a reader more than she would see without. */
  keysRevealMore: boolean
  /** `null` closes the admin routes. */
  isAdminKey: ((token: string) => boolean) | null
  /** The active key behind a bearer token. */
  recognise: (token: string) => ApiKey | null
}

/**
 * The gates, in the deployed protocol's words: docs/protocol.md#2-api-keys.
 * @returns who reads; a token that opens nothing is ignored where no gate is on and no source is private
 */
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

const authorizeAdmin = (token: string | null, { isAdminKey }: Gates): Reader => {
  if (isAdminKey === null) throw unauthorized('Admin endpoints disabled — REGISTRY_ADMIN_API_KEY not set')
  if (token === null) throw unauthorized('Admin bearer token required')
  if (!isAdminKey(token)) throw unauthorized('Invalid admin token')
  return ANONYMOUS
}

/** Exactly the seven characters `Bearer `, then the token less surrounding blanks. */
const bearerToken = (authorization: string | undefined): string | null =>
  authorization?.startsWith('Bearer ') ? authorization.slice('Bearer '.length).trim() || null : null

const unauthorized = (detail: string): EntrepotError => new EntrepotError('unauthorized', detail)
