import type { Micros } from './timestamp.ts'

export const KEY_SCOPES = ['read', 'write'] as const
/**
 * Of keys without a scope. `metrics`: for `GET /metrics` and nothing else. `admin`: of a named operator, for what
 * `REGISTRY_ADMIN_API_KEY` opens while it is set.
 */
export const KEY_ROLES = ['metrics', 'admin'] as const

export type KeyScope = (typeof KEY_SCOPES)[number]
export type KeyRole = (typeof KEY_ROLES)[number]

export type ApiKey = {
  id: number
  name: string
  /** Or the role of a key without a scope: one member, as stores have it. */
  scope: KeyScope | KeyRole
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

export const isRole = (scope: KeyScope | KeyRole): scope is KeyRole =>
  (KEY_ROLES as readonly string[]).includes(scope)

/** Whether it may pass the read or the write gate: not after its revocation. */
export const opensGates = ({ revokedAt, scope }: Pick<ApiKey, 'revokedAt' | 'scope'>): boolean =>
  revokedAt === null && !isRole(scope)

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
export type Caller = { kind: 'anonymous' } | Operator | { kind: 'key'; key: ApiKey }

/** `key`: of a named operator; `null`: `REGISTRY_ADMIN_API_KEY`. */
type Operator = { kind: 'operator'; key: ApiKey | null }

export const ANONYMOUS: Caller = { kind: 'anonymous' }
/** With `REGISTRY_ADMIN_API_KEY`. */
export const OPERATOR: Operator = { kind: 'operator', key: null }

/** The name of `OPERATOR`, which no admin key has. */
export const OPERATOR_NAME = 'operator'

/** For people, in the audit log. */
export const describeKey = ({ id, name, scope }: ApiKey): string => `key ${id}: ${name} (${scope})`

/** The key of the store that a request came with. */
export function keyOf(caller: Caller): ApiKey | null {
  return caller.kind === 'anonymous' ? null : caller.key
}
