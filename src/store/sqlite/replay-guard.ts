import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { UsedSignature, UseKey } from '../store.ts'

export type EarlierUse = { body: string; answer: string }

const MAX_FORGOTTEN_PER_WRITE = 100

/** Call everything inside a transaction. */
export class SqliteReplayGuard {
  readonly #find: StatementSync
  readonly #storefront: StatementSync
  readonly #remember: StatementSync
  readonly #expired: StatementSync
  readonly #forget: StatementSync
  readonly #forgottenUntil: StatementSync
  readonly #setForgottenUntil: StatementSync

  constructor(database: DatabaseSync) {
    this.#find = database.prepare(
      `SELECT body, answer FROM signature_use WHERE signature = ? AND operation = ? AND listing_id = ?`,
    )
    this.#storefront = database.prepare(
      `SELECT storefront_url AS url FROM signature_use
       WHERE signature = ? AND operation = 'publish' LIMIT 1`,
    )
    this.#remember = database.prepare(
      `INSERT OR REPLACE INTO signature_use
       (signature, operation, listing_id, body, storefront_url, answer, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
    )
    this.#expired = database.prepare(
      `SELECT max(expires_at) AS latest FROM
       (SELECT expires_at FROM signature_use WHERE expires_at <= ? ORDER BY expires_at LIMIT ${MAX_FORGOTTEN_PER_WRITE})`,
    )
    this.#forget = database.prepare('DELETE FROM signature_use WHERE expires_at <= ?')
    this.#forgottenUntil = database.prepare('SELECT expires_at FROM forgotten_use')
    this.#setForgottenUntil = database.prepare(
      `INSERT INTO forgotten_use (id, expires_at) VALUES (1, ?)
       ON CONFLICT DO UPDATE SET expires_at = max(expires_at, excluded.expires_at)`,
    )
  }

  find({ signature, operation, listingId }: UseKey): EarlierUse | null {
    const row = this.#find.get(signature, operation, listingId)
    return row === undefined ? null : { body: String(row.body), answer: String(row.answer) }
  }

  storefrontOf(signature: string): string | null | undefined {
    return this.#storefront.get(signature)?.url as string | null | undefined
  }

  remember(
    { operation, listingId }: UseKey,
    { signature, body, expiresAt }: UsedSignature,
    { answer, storefrontUrl }: { answer: string; storefrontUrl: string | null },
  ): void {
    this.#remember.run(signature, operation, listingId, body, storefrontUrl, answer, expiresAt)
  }

  /** Records the latest forgotten expiry, so that a clock that is set back changes nothing. */
  forgetExpired({ now }: UsedSignature): void {
    const latest = this.#expired.get(now)?.latest
    if (typeof latest !== 'number') return
    this.#setForgottenUntil.run(latest)
    this.#forget.run(latest)
  }

  mayBeForgotten({ expiresAt }: UsedSignature): boolean {
    const until = this.#forgottenUntil.get()
    return until !== undefined && expiresAt <= Number(until.expires_at)
  }
}
