import { readFileSync, writeFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'

/** A request of the plain line, and below what a plain Registry with the store of 0.3.0 answers. */
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

/** A copy of the store of 0.3.0. */
export function writeOldStore(path: string): void {
  const fixture = new URL('../fixtures/stores/0.3.0.db.gz', import.meta.url)
  writeFileSync(path, gunzipSync(readFileSync(fixture)))
}
