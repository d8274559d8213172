import type { Micros } from './timestamp.ts'

/** What is recorded, in the words of the signed line where it has some. */
export type Act =
  | 'key.mint'
  | 'key.rotate'
  | 'key.revoke'
  | 'block.add'
  | 'block.end'
  | 'reload'
  | 'source.refresh'
  | 'source.probe'
  | 'backup'
  | 'restore'
  | 'listing.publish'
  | 'listing.update'
  | 'listing.delete'
  | 'publisher.identity.rotate'
  | 'publisher.identity.retire'

/** Acts of operators, and writes of sellers: each has its own share of the log. */
export const AUDIT_KINDS = ['operator', 'seller'] as const

/** One act of the audit log. It has no key and no hash of one. */
export type AuditEntry = NewAuditEntry & {
  /** By the store's clock; of one entry only. */
  at: Micros
}

export type NewAuditEntry = {
  kind: (typeof AUDIT_KINDS)[number]
  /** Name of the key, `operator`, or `local:USER@HOST`; `null`: a seller without an API key. */
  by: string | null
  /** Of the key in the store. */
  keyId: number | null
  /** Address or key that signed the write, `0x…` or `ed25519:…`; `null` for an act of an operator. */
  publisher: string | null
  act: Act
  /** What it was about. */
  subject: string
  /** Address of the client or its hash, as in the log; `null`: an act on the host. */
  client: string | null
  /** `ok`, or the code of the problem. */
  result: string
}

/** What the log holds at most. */
export type AuditBounds = {
  /** Of each kind, with what a store needs for an entry. */
  maxBytes: number
  maxAgeMicros: Micros
}
