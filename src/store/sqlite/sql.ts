import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'

export const COLUMNS = {
  listing:
    'listing_id, publisher_id, status, created_at, updated_at, ' +
    'offer_resource, accepted_escrows, demands, max_duration_seconds, oracle_address',
  publisher: 'publisher_id, scheme, identifier, storefront_url, created_at, updated_at',
  api_key: 'id, name, scope, hash, created_at, revoked_at, expires_at',
}

// What a `SELECT` reads as `ListingRecord`, `Publisher` and `ApiKey`.
export const LISTING_ROW = asMembers(COLUMNS.listing)
export const PUBLISHER_ROW = asMembers(COLUMNS.publisher)
export const API_KEY_ROW = asMembers(COLUMNS.api_key)

const PUT = {
  listing: putInto('listing'),
  publisher: putInto('publisher'),
  api_key: putInto('api_key'),
}

/** The statements of one database, each prepared once. */
export class Sql {
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  get<Row>(text: string, ...values: SQLInputValue[]): Row | null {
    const row = this.#prepared(text).get(...values)
    return row === undefined ? null : ({ ...row } as Row)
  }

  all<Row>(text: string, ...values: SQLInputValue[]): Row[] {
    return this.#prepared(text)
      .all(...values)
      .map((row) => ({ ...row }) as Row)
  }

  run(text: string, ...values: SQLInputValue[]): void {
    this.#prepared(text).run(...values)
  }

  /** Inserts a row, or replaces it. Its members are all columns. */
  put(table: keyof typeof COLUMNS, row: Readonly<Record<string, SQLInputValue>>): void {
    this.#prepared(PUT[table]).run(row)
  }

  #prepared(text: string): StatementSync {
    let statement = this.#statements.get(text)
    if (statement === undefined) {
      statement = this.#database.prepare(text)
      this.#statements.set(text, statement)
    }
    return statement
  }
}

function putInto(table: keyof typeof COLUMNS): string {
  const columns = COLUMNS[table]
  const values = columns.replace(/\w+/g, (column) => `:${memberOf(column)}`)
  return `INSERT OR REPLACE INTO ${table} (${columns}) VALUES (${values})`
}

function asMembers(columns: string): string {
  return columns.replace(/\w+/g, (column) => `${column} AS ${memberOf(column)}`)
}

/** `created_at` → `createdAt`. */
function memberOf(column: string): string {
  return column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}
