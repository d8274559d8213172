import type { Micros } from './timestamp.ts'

export type KeyScope = 'read' | 'write'

/** An API key as it is stored: its hash, never the key. */
export type ApiKey = {
  id: number
  name: string
  scope: KeyScope
  /** Lower-case hex SHA-256 of the raw key's UTF-8 text. */
  hash: string
  createdAt: Micros
  /** `null` while the key is active. */
  revokedAt: Micros | null
}

/** Who reads: decides which sources are asked and named. */
export type Reader = { kind: 'anonymous' } | { kind: 'key'; key: ApiKey }

export const ANONYMOUS: Reader = { kind: 'anonymous' }
