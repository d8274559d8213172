import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'ava'
import type { Row } from '../../../src/store/rows.ts'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import { startRegistry } from '../../helpers/registry.ts'
import { temporaryFolder } from '../../helpers/run-cli.ts'
import { authorityEnvironment, readSigned } from '../../helpers/signed-reader.ts'

/** A request of the plain line, and below what a plain Registry with that store answers. */
type PlainQuestion = { method?: string; path: string; body?: string }

type PlainAnswer = { status: number; headers: Record<string, string>; text: string }

const KEPT = ['content-type', 'cache-control', 'www-authenticate', 'allow', 'retry-after']

async function askPlainly(url: string, { method = 'GET', path, body }: PlainQuestion): Promise<PlainAnswer> {
  const headers = { 'Content-Type': 'application/json', 'Accept-Encoding': 'identity' }
  const response = await fetch(`${url}${path}`, { method, headers, ...(body !== undefined && { body }) })
  const kept = [...response.headers].filter(([name]) => KEPT.includes(name))
  return { status: response.status, headers: Object.fromEntries(kept), text: await response.text() }
}

/** What a store of 0.3.0 had, in its times. */
async function writeStore(path: string): Promise<void> {
  const rows: Row[] = JSON.parse(
    readFileSync(new URL('../../fixtures/plain-line-rows.json', import.meta.url), 'utf8'),
  )
  const store = openSqliteStore(path)
  await store.rows.commit(0, rows)
  await store.close()
}

/** What the code answered before there were signed clients. */
const RECORDED: { question: PlainQuestion; answer: PlainAnswer }[] = JSON.parse(
  readFileSync(new URL('../../fixtures/plain-line.json', import.meta.url), 'utf8'),
)

for (const isSigned of [false, true])
  test(`plain line: every byte is as before, ${isSigned ? 'also beside' : 'without'} the signed line`, async (t) => {
    const path = join(temporaryFolder(t), 'store.db')
    await writeStore(path)
    const gates = { REGISTRY_REQUIRE_READ_API_KEY: 'false', REGISTRY_REQUIRE_WRITE_API_KEY: 'false' }
    const environment = {
      STORE_URL: `sqlite:${path}`,
      ...gates,
      ...(isSigned && authorityEnvironment(t)),
    }
    const { url } = await startRegistry(t, { environment })
    if (isSigned) t.is((await readSigned(url, '/listings')).status, 200)
    for (const { question, answer } of RECORDED)
      t.deepEqual(await askPlainly(url, question), answer, JSON.stringify(question))
  })
