import type { Micros } from '../../domain/timestamp.ts'
import type { SpentSignature } from '../store.ts'
import type { Sql } from './sql.ts'

const MAX_SPENT_PER_WRITE = 100
/** Counting them takes a millisecond or two. */
const DROP_STEP = 1000
const READ_PAGE = 1000

/** Used signatures that have expired, and the latest expiry of those that were dropped. Call everything in a transaction. */
export class SpentSignatures {
  readonly #sql: Sql
  readonly #kept: number
  /** The first call drops what an earlier process has left. */
  #uncounted = DROP_STEP

  constructor(sql: Sql, kept: number) {
    this.#sql = sql
    this.#kept = kept
  }

  spendExpired(now: Micros): void {
    const { latest } = this.#sql.get<Latest>(LATEST_EXPIRED, now)!
    if (latest === null) return
    this.#uncounted += this.#sql.run(SPEND, latest)
    this.#sql.run('DELETE FROM signature_use WHERE expires_at <= ?', latest)
    if (this.#uncounted < DROP_STEP) return
    this.#uncounted = 0
    this.#dropFirst()
  }

  /** Whether an unknown use of the signature may be one that was forgotten. */
  mayHave({ signature, expiresAt }: SpentSignature): boolean {
    return (
      expiresAt <= this.latestDropped() ||
      this.#sql.get('SELECT 1 FROM spent_signature WHERE signature = ?', signature) !== null
    )
  }

  latestDropped(): Micros {
    return this.#sql.get<{ at: Micros }>('SELECT expires_at AS at FROM forgotten_use')?.at ?? 0
  }

  /** The used signatures behind `last`, spent or not, that expire after that time. */
  page(after: Micros, last: string): SpentSignature[] {
    return this.#sql.all<SpentSignature>(USED_AFTER, last, after, last, after)
  }

  #dropFirst(): void {
    const { count } = this.#sql.get<{ count: number }>('SELECT count(*) AS count FROM spent_signature')!
    const { latest } = this.#sql.get<Latest>(LATEST_SPENT, Math.max(0, count - this.#kept))!
    if (latest === null) return
    this.#sql.run(
      `INSERT INTO forgotten_use (id, expires_at) VALUES (1, ?)
       ON CONFLICT DO UPDATE SET expires_at = max(expires_at, excluded.expires_at)`,
      latest,
    )
    this.#sql.run('DELETE FROM spent_signature WHERE expires_at <= ?', latest)
  }
}

type Latest = { latest: Micros | null }

const LATEST_EXPIRED = `
SELECT max(expires_at) AS latest FROM
(SELECT expires_at FROM signature_use WHERE expires_at <= ? ORDER BY expires_at LIMIT ${MAX_SPENT_PER_WRITE})`

const SPEND = `
INSERT OR IGNORE INTO spent_signature (signature, expires_at)
SELECT signature, expires_at FROM signature_use WHERE expires_at <= ?`

const LATEST_SPENT = `
SELECT max(expires_at) AS latest FROM (SELECT expires_at FROM spent_signature ORDER BY expires_at LIMIT ?)`

// Older Node versions take numbered parameters (`?1`) by name only.
const USED_AFTER = `
SELECT signature, expires_at AS expiresAt FROM signature_use WHERE signature > ? AND expires_at > ?
UNION SELECT signature, expires_at FROM spent_signature WHERE signature > ? AND expires_at > ?
ORDER BY signature LIMIT ${READ_PAGE}`
