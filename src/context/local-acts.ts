import { hostname, userInfo } from 'node:os'
import type { AuditBounds, NewAuditEntry } from '../domain/audit.ts'

/** An act of a user on the host of the store. */
export const localAct = (act: NewAuditEntry['act'], subject: string, result: string): NewAuditEntry => ({
  kind: 'operator',
  by: `local:${userName()}@${hostname()}`,
  keyId: null,
  publisher: null,
  act,
  subject,
  client: null,
  result,
})

/** What the log may hold is of the gateway file, which commands on the store do not read. The service's next act drops. */
export const KEEPS_ALL: AuditBounds = {
  maxBytes: Number.MAX_SAFE_INTEGER,
  maxAgeMicros: Number.MAX_SAFE_INTEGER,
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // Containers run as users without an entry in `passwd`.
    return String(process.getuid?.() ?? 'unknown')
  }
}
