import { readFileSync } from 'node:fs'
import type { Row } from '../../src/store/rows.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'

/** A request of the plain line, and below what a plain Registry with that store answers. */
export type PlainQuestion = { method?: string; path: string; body?: string }

export type PlainAnswer = { status: number; headers: Record<string, string>; text: string }

const KEPT = ['content-type', 'cache-control', 'www-authenticate', 'allow', 'retry-after']

export async function askPlainly(
  url: string,
  { method = 'GET', path, body }: PlainQuestion,
): Promise<PlainAnswer> {
  const headers = { 'Content-Type': 'application/json', 'Accept-Encoding': 'identity' }
  const response = await fetch(`${url}${path}`, { method, headers, ...(body !== undefined && { body }) })
  const kept = [...response.headers].filter(([name]) => KEPT.includes(name))
  return { status: response.status, headers: Object.fromEntries(kept), text: await response.text() }
}

/** What a store of 0.3.0 had, in its times. */
export async function writeStore(path: string): Promise<void> {
  const rows: Row[] = JSON.parse(
    readFileSync(new URL('../fixtures/plain-line-rows.json', import.meta.url), 'utf8'),
  )
  const store = openSqliteStore(path)
  await store.rows.commit(0, rows)
  await store.close()
}
