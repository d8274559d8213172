import { AUDIT_KINDS, type AuditBounds, type AuditEntry, type NewAuditEntry } from '../../domain/audit.ts'
import type { Micros } from '../../domain/timestamp.ts'
import { auditBytes, MAX_AUDIT_DROPS } from '../store.ts'
import type { Sql } from './sql.ts'

type Kind = AuditEntry['kind']

/** `written`: bytes of all entries of its kind up to this one, dropped ones included. */
type AuditRow = { at: Micros; kind: Kind; content: string; written: number }

/** The audit log. Call everything inside a transaction. */
export class SqliteAudit {
  readonly #sql: Sql
  readonly #now: () => Micros

  constructor(sql: Sql, now: () => Micros) {
    this.#sql = sql
    this.#now = now
  }

  append(entry: NewAuditEntry, bounds: AuditBounds): AuditEntry {
    const latest = this.#sql.get<{ at: Micros | null }>('SELECT max(at) AS at FROM audit')!.at
    const added = { ...entry, at: Math.max(this.#now(), (latest ?? 0) + 1) }
    this.put(added)
    for (const kind of AUDIT_KINDS) this.#drop(kind, added.at, bounds)
    return added
  }

  put({ at, kind, ...rest }: AuditEntry): void {
    const content = JSON.stringify(rest)
    const written = (this.#end(kind, 'DESC')?.written ?? 0) + auditBytes(content)
    this.#sql.run(
      'INSERT INTO audit (at, kind, content, written) VALUES (?, ?, ?, ?)',
      at,
      kind,
      content,
      written,
    )
  }

  read(since: Micros | null, limit: number): AuditEntry[] {
    const rows =
      since === null
        ? this.#sql.all<AuditRow>(`SELECT ${ROW} FROM audit ORDER BY at DESC LIMIT ?`, limit).reverse()
        : this.#sql.all<AuditRow>(`SELECT ${ROW} FROM audit WHERE at > ? ORDER BY at LIMIT ?`, since, limit)
    return rows.map(({ at, kind, content }) => ({ ...JSON.parse(content), at, kind }))
  }

  #drop(kind: Kind, now: Micros, { maxBytes, maxAgeMicros }: AuditBounds): void {
    const written = this.#end(kind, 'DESC')?.written ?? 0
    for (let n = 0; n < MAX_AUDIT_DROPS; n++) {
      const oldest = this.#end(kind, 'ASC')
      if (oldest === null) return
      const held = written - oldest.written + auditBytes(oldest.content)
      if (held <= maxBytes && oldest.at >= now - maxAgeMicros) return
      this.#sql.run('DELETE FROM audit WHERE at = ?', oldest.at)
    }
  }

  #end(kind: Kind, order: 'ASC' | 'DESC'): AuditRow | null {
    return this.#sql.get(`SELECT ${ROW} FROM audit WHERE kind = ? ORDER BY at ${order} LIMIT 1`, kind)
  }
}

const ROW = 'at, kind, content, written'
