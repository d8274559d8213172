import type { Micros } from './timestamp.ts'

export type KeyScope = 'read' | 'write'

export type ApiKey = {
  id: number
  name: string
  scope: KeyScope
  /** Lower-case hex SHA-256 of the raw key's UTF-8 text. The key itself is not stored. */
  hash: string
  createdAt: Micros
  /** `null` while the key is active. */
  revokedAt: Micros | null
}

/** Decides which sources are read and named in answers. */
export type Reader = { kind: 'anonymous' } | { kind: 'key'; key: ApiKey }

export const ANONYMOUS: Reader = { kind: 'anonymous' }
