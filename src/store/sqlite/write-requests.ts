import type { Micros } from '../../domain/timestamp.ts'
import { LEASE_MICROS, type RecordedAnswer, type Reservation, type WriteRequest } from '../store.ts'
import type { SpentSignatures } from './spent-signatures.ts'
import type { Sql } from './sql.ts'

/** Records of writes of the signed line, in rows of the replay guard. Call everything in a transaction. */
export class SqliteWriteRequests {
  readonly #sql: Sql
  readonly #spent: SpentSignatures

  constructor(sql: Sql, spent: SpentSignatures) {
    this.#sql = sql
    this.#spent = spent
  }

  reserve({ requestKey, hash, expiresAt, now }: WriteRequest): Reservation {
    this.#spent.spendExpired(now)
    const earlier = this.#sql.get<RequestRow>(REQUEST, requestKey)
    if (earlier === null) {
      if (this.#spent.mayHave({ signature: requestKey, expiresAt })) return { outcome: 'changed_reuse' }
      this.#sql.run(INSERT, requestKey, hash, expiresAt, now + LEASE_MICROS)
      return { outcome: 'reserved' }
    }
    if (earlier.hash !== hash) return { outcome: 'changed_reuse' }
    this.#sql.run(EXTEND, expiresAt, requestKey)
    if (earlier.answer !== NONE) return { outcome: 'answered', answer: JSON.parse(earlier.answer) }
    if (isLeased(earlier.leasedUntil, now)) return { outcome: 'in_progress' }
    this.#sql.run(LEASE, now + LEASE_MICROS, requestKey)
    return { outcome: 'reserved' }
  }

  /** The first answer stays. */
  settle({ requestKey }: WriteRequest, answer: RecordedAnswer | null): void {
    this.#sql.run(SETTLE, answer === null ? NONE : JSON.stringify(answer), requestKey)
  }

  /** `undefined` before the mutation. */
  receiptOf<Receipt>({ requestKey }: WriteRequest): Receipt | undefined {
    const receipt = this.#sql.get<RequestRow>(REQUEST, requestKey)?.receipt ?? null
    return receipt === null ? undefined : JSON.parse(receipt)
  }

  putReceipt({ requestKey }: WriteRequest, receipt: object): void {
    this.#sql.run(PUT_RECEIPT, JSON.stringify(receipt), requestKey)
  }
}

/** A clock that was set back makes no lease longer. */
const isLeased = (until: Micros | null, now: Micros): boolean =>
  until !== null && until > now && until <= now + LEASE_MICROS

type RequestRow = { hash: string; answer: string; receipt: string | null; leasedUntil: Micros | null }

const NONE = ''
const ROW = "signature = ? AND operation = 'request' AND listing_id = ''"
const REQUEST = `SELECT body AS hash, answer, receipt, used_at AS leasedUntil FROM signature_use WHERE ${ROW}`
const INSERT = `
INSERT INTO signature_use (signature, operation, listing_id, body, answer, expires_at, used_at)
VALUES (?, 'request', '', ?, '${NONE}', ?, ?)`
const EXTEND = `UPDATE signature_use SET expires_at = max(expires_at, ?) WHERE ${ROW}`
const LEASE = `UPDATE signature_use SET used_at = ? WHERE ${ROW}`
const SETTLE = `UPDATE signature_use SET answer = ?, used_at = NULL WHERE ${ROW} AND answer = '${NONE}'`
const PUT_RECEIPT = `UPDATE signature_use SET receipt = ? WHERE ${ROW}`
