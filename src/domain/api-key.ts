import type { Micros } from './timestamp.ts'

/** `metrics`: for `GET /metrics` and nothing else. */
export const KEY_SCOPES = ['read', 'write', 'metrics'] as const

export type KeyScope = (typeof KEY_SCOPES)[number]

export type ApiKey = {
  id: number
  name: string
  scope: KeyScope
  /** Name of the view that the key has; `null`: that of keys without one. */
  view: string | null
  /** Lower-case hex SHA-256 of the raw key's UTF-8 text. The key itself is not stored. */
  hash: string
  createdAt: Micros
  /** From here on it is refused; `null`: never. */
  expiresAt: Micros | null
  /** `null` until it is revoked. */
  revokedAt: Micros | null
}

/** Whether it may pass the read or the write gate: not after its revocation. */
export const opensGates = ({ revokedAt, scope }: Pick<ApiKey, 'revokedAt' | 'scope'>): boolean =>
  revokedAt === null && scope !== 'metrics'

/** Requests with one key, and the latest of them. */
export type KeyUse = { keyId: number; calls: number; lastUsedAt: Micros }

/**
 * Both functions settle within seconds, and reject where the storage is unavailable. Every implementation passes
 * `test/integration/store/contract/key-uses.ts`.
 */
export type KeyUseStorage = {
  /** Adds the calls to those that any process has saved, and keeps the latest use. */
  add: (uses: readonly KeyUse[]) => Promise<void>
  read: () => Promise<KeyUse[]>
}

/** Who asks, by the credential of the request. What a caller sees is its `Reader`. */
export type Caller = { kind: 'anonymous' } | { kind: 'operator' } | { kind: 'key'; key: ApiKey }

export const ANONYMOUS: Caller = { kind: 'anonymous' }
/** With the admin key. */
export const OPERATOR: Caller = { kind: 'operator' }
