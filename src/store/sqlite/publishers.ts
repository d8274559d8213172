import type { Publisher, PublisherIdentity, Rotation } from '../../domain/publisher.ts'
import { PUBLISHER_ROW, type Sql } from './sql.ts'

type PublisherRow = Omit<Publisher, 'rotations'> & { rotations: string }

/** The publishers, by number and by each identity that they have or had. Call everything in a transaction. */
export class SqlitePublishers {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  get(publisherId: number | string): Publisher | null {
    return publisherFrom(this.#sql.get<PublisherRow>(BY_ID, publisherId))
  }

  /** At most `limit`, by number. */
  page(after: number, limit: number): Publisher[] {
    return this.#sql.all<PublisherRow>(AFTER, after, limit).map((row) => publisherFrom(row)!)
  }

  withIdentity({ scheme, identifier }: PublisherIdentity): Publisher | null {
    const primary = publisherFrom(this.#sql.get<PublisherRow>(BY_IDENTITY, scheme, identifier))
    if (primary !== null) return primary
    const replaced = this.#sql.get<{ id: number }>(BY_REPLACED, scheme, identifier)
    return replaced && this.get(replaced.id)
  }

  nextId(): number {
    return this.#sql.get<{ id: number }>('SELECT coalesce(max(publisher_id), 0) + 1 AS id FROM publisher')!.id
  }

  /** Also what its rotations have replaced. */
  put(publisher: Publisher): void {
    const { publisherId, rotations } = publisher
    this.#sql.put('publisher', { ...publisher, rotations: JSON.stringify(rotations) })
    for (const { current } of rotations)
      this.#sql.run(PUT_REPLACED, current.scheme, current.identifier, publisherId)
  }
}

function publisherFrom(row: PublisherRow | null): Publisher | null {
  return row && { ...row, rotations: JSON.parse(row.rotations) as Rotation[] }
}

const BY_ID = `SELECT ${PUBLISHER_ROW} FROM publisher WHERE publisher_id = ?`
const AFTER = `SELECT ${PUBLISHER_ROW} FROM publisher WHERE publisher_id > ? ORDER BY publisher_id LIMIT ?`
const BY_IDENTITY = `SELECT ${PUBLISHER_ROW} FROM publisher WHERE scheme = ? AND identifier = ?`
const BY_REPLACED = 'SELECT publisher_id AS id FROM replaced_identity WHERE scheme = ? AND identifier = ?'
const PUT_REPLACED =
  'INSERT OR REPLACE INTO replaced_identity (scheme, identifier, publisher_id) VALUES (?, ?, ?)'
