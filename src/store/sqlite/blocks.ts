import type { Block, NewBlock } from '../../domain/block.ts'
import type { Micros } from '../../domain/timestamp.ts'
import { BLOCK_ROW, type Sql } from './sql.ts'

type BlockRow = {
  id: number
  content: string
  createdAt: Micros
  until: Micros | null
  endedAt: Micros | null
}

/** Blocks of operators. Call everything inside a transaction. */
export class SqliteBlocks {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  add(block: NewBlock, createdAt: Micros): Block {
    const { id } = this.#sql.get<{ id: number }>('SELECT coalesce(max(id), 0) + 1 AS id FROM block')!
    const added = { ...block, id, createdAt, endedAt: null }
    this.put(added)
    return added
  }

  get(id: string | number): Block | null {
    const row = this.#sql.get<BlockRow>(`SELECT ${BLOCK_ROW} FROM block WHERE id = ?`, id)
    return row && blockOf(row)
  }

  put({ id, createdAt, until, endedAt, ...content }: Block): void {
    this.#sql.put('block', { id, content: JSON.stringify(content), createdAt, until, endedAt })
  }

  page(after: number, limit: number): Block[] {
    const text = `SELECT ${BLOCK_ROW} FROM block WHERE id > ? ORDER BY id LIMIT ?`
    return this.#sql.all<BlockRow>(text, after, limit).map(blockOf)
  }
}

const blockOf = ({ content, ...row }: BlockRow): Block => ({ ...JSON.parse(content), ...row })
