import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Micros } from '../domain/timestamp.ts'
import type { SignatureUse } from './store.ts'

export type Operation = 'publish' | 'update' | 'remove'

/** Which use of a signature is meant: one signature may publish several listings (`protocol.md` 8, Replay). */
export type UseKey = { operation: Operation; listingId: string; use: SignatureUse }

/** What an earlier use of the signature for the same operation and listing was. */
export type EarlierUse = { body: string; answer: string }

/** Microseconds between two sweeps of expired uses: keeps each sweep short and its cost per mutation near zero. */
const SWEEP_INTERVAL = 1_000_000

/** The replay guard's table. Call everything inside a transaction. */
export class SqliteSignatureUses {
  readonly #find: StatementSync
  readonly #storefront: StatementSync
  readonly #remember: StatementSync
  readonly #sweep: StatementSync
  readonly #now: () => Micros
  #nextSweep: Micros = 0

  constructor(database: DatabaseSync, now: () => Micros) {
    this.#find = database.prepare(
      `SELECT body, answer FROM signature_use
       WHERE signature = ? AND operation = ? AND listing_id = ? AND expires_at > ?`,
    )
    this.#storefront = database.prepare(
      `SELECT storefront_url AS url FROM signature_use
       WHERE signature = ? AND operation = 'publish' AND expires_at > ? LIMIT 1`,
    )
    this.#remember = database.prepare(
      `INSERT OR REPLACE INTO signature_use
       (signature, operation, listing_id, body, storefront_url, answer, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
    )
    this.#sweep = database.prepare('DELETE FROM signature_use WHERE expires_at <= ?')
    this.#now = now
  }

  find({ operation, listingId, use }: UseKey): EarlierUse | null {
    const row = this.#find.get(use.signature, operation, listingId, this.#now())
    return row === undefined ? null : { body: String(row.body), answer: String(row.answer) }
  }

  /** The storefront URL that the publish signature came with first; `undefined` for one never seen. */
  storefrontOf(signature: string): string | null | undefined {
    return this.#storefront.get(signature, this.#now())?.url as string | null | undefined
  }

  remember({ operation, listingId, use }: UseKey, answer: string, storefrontUrl: string | null): void {
    this.#remember.run(use.signature, operation, listingId, use.body, storefrontUrl, answer, use.expiresAt)
  }

  /** Forgets what has expired, at most once per interval. */
  sweep(): void {
    const now = this.#now()
    if (now < this.#nextSweep) return
    this.#nextSweep = now + SWEEP_INTERVAL
    this.#sweep.run(now)
  }
}
