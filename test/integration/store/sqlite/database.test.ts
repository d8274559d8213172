import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import test, { type ExecutionContext } from 'ava'
import { ConfigError } from '../../../../src/errors.ts'
import { openSqliteStore } from '../../../../src/store/sqlite/store.ts'
import { temporaryFolder } from '../../../helpers/run-cli.ts'
import { freshUse, keyNamed, loaded, published, publishOf } from '../../../helpers/store/subject.ts'

function inDirectory(t: ExecutionContext, name = 'entrepot.db'): string {
  return join(temporaryFolder(t), name)
}

function refusal(t: ExecutionContext, path: string, expected: RegExp): void {
  const error = t.throws(() => openSqliteStore(path), { instanceOf: ConfigError })
  t.is(error.problems[0]?.path, 'STORE_URL')
  t.regex(error.message, expected)
}

test('SQLite open: a file of a newer schema is refused and unchanged', async (t) => {
  const path = inDirectory(t)
  await openSqliteStore(path).close()
  sql(path, 'PRAGMA user_version = 2')
  refusal(t, path, /newer entrepot \(schema 2, this one reads up to 1\): run that version again/)
  t.is(sql(path, 'PRAGMA user_version').user_version, 2)
})

test("SQLite open: another program's database is refused and unchanged", (t) => {
  for (const statement of ['CREATE TABLE theirs (a)', 'PRAGMA user_version = 1']) {
    const path = inDirectory(t)
    sql(path, statement)
    const before = readFileSync(path)
    refusal(t, path, /database of another program: name another file/)
    t.deepEqual(readFileSync(path), before)
  }
})

test('SQLite open: a file that is no database is refused and unchanged', (t) => {
  const path = inDirectory(t, 'notes.txt')
  writeFileSync(path, 'not a database, but long enough to have a header. '.repeat(40))
  refusal(t, path, /notes\.txt cannot be opened: file is not a database; name another file/)
  t.regex(readFileSync(path, 'utf8'), /^not a database/)
})

test('SQLite open: an impossible path is refused with what to do', (t) => {
  const path = inDirectory(t, 'directory')
  mkdirSync(path)
  refusal(t, path, /directory cannot be opened: .*or name another/)
  const file = inDirectory(t, 'file')
  writeFileSync(file, '')
  refusal(t, join(file, 'entrepot.db'), /or name another/)
})

test('SQLite open: a damaged file fails the start or the read, never silently', async (t) => {
  const path = inDirectory(t)
  const store = openSqliteStore(path)
  for (let n = 0; n < 200; n++) await published(store, publishOf(`L${n}`))
  await store.close()
  const bytes = readFileSync(path)
  bytes.fill(0xff, 4096, bytes.length)
  writeFileSync(path, bytes)
  const readAll = async () => loaded(openSqliteStore(path))
  await t.throwsAsync(readAll, { message: /malformed/ })
})

test('SQLite busy: a mutation waits for another program without blocking', async (t) => {
  const path = inDirectory(t)
  const store = openSqliteStore(path)
  t.teardown(() => store.close())
  const other = new DatabaseSync(path)
  other.exec('BEGIN IMMEDIATE')
  let settled = false
  const receipt = published(store, publishOf('L')).finally(() => {
    settled = true
  })
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
  t.false(settled)
  other.exec('COMMIT')
  other.close()
  t.is((await receipt).listingId, 'L')
})

test('SQLite open: keys of a file without expiries never expire, and new ones can', async (t) => {
  const path = inDirectory(t)
  const store = openSqliteStore(path)
  await store.addKey(keyNamed('old'))
  await store.close()
  sql(path, 'ALTER TABLE api_key DROP COLUMN expires_at')
  const again = openSqliteStore(path)
  const dated = await again.addKey(keyNamed('new', { expiresAt: 5 }))
  const keys = (await loaded(again)).changes.map((change) => change.kind === 'key' && change.key)
  t.like(keys, [{ name: 'old', expiresAt: null }, dated])
  await again.close()
})

test('SQLite open: uses of a file without first uses stay used, and bind neither key nor time', async (t) => {
  const path = inDirectory(t)
  const store = openSqliteStore(path)
  const { signature, now } = freshUse()
  const use = (later = 0) => freshUse({ signature, now: now + later })
  const first = publishOf('L', { keyId: 1, use: use(), storefrontUrl: 'https://a.example' })
  const receipt = await store.publish(first)
  await store.close()
  for (const column of ['key_id', 'used_at']) sql(path, `ALTER TABLE signature_use DROP COLUMN ${column}`)
  sql(path, 'DROP TABLE spent_signature')
  const again = openSqliteStore(path)
  t.teardown(() => again.close())
  t.deepEqual(await again.publish(first), receipt)
  t.is((await again.publish(publishOf('L', { use: use() }))).outcome, 'signature_reused')
  t.is((await again.publish(publishOf('M', { use: use(60_000_000), keyId: 2 }))).outcome, 'published')
  const moved = publishOf('N', { use: use(), storefrontUrl: 'https://evil.example' })
  t.is((await again.publish(moved)).outcome, 'signature_reused')
})

test('SQLite clock: times rise after the clock is set back', async (t) => {
  const path = inDirectory(t)
  const readings = [5000, 3000, 3000, 9000]
  const store = openSqliteStore(path, { now: () => readings[0]! })
  const times = []
  for (const id of ['K', 'L', 'M', 'N']) {
    times.push((await published(store, publishOf(id))).createdAt)
    readings.shift()
  }
  await store.close()
  t.deepEqual(times, [5000, 5001, 5002, 9000])
  const again = openSqliteStore(path, { now: () => 10 })
  t.is((await published(again, publishOf('O'))).createdAt, 9001)
  await again.close()
})

test('SQLite open: processes that create one file at once all open it', async (t) => {
  const path = inDirectory(t, 'new/entrepot.db')
  const program = `
    import { openSqliteStore } from ${JSON.stringify(join(import.meta.dirname, '../../../../src/store/sqlite/store.ts'))}
    const store = openSqliteStore(process.argv[1])
    const key = await store.seedKey({ name: 'bootstrap', scope: 'write', hash: 'hash', expiresAt: null })
    await store.close()
    console.log(key === null ? 'found' : 'seeded')`
  const runs = await Promise.all(Array.from({ length: 4 }, () => run(program, path)))
  t.deepEqual(runs.sort(), ['found\n', 'found\n', 'found\n', 'seeded\n'])
})

async function run(program: string, path: string): Promise<string> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const output = child.stdout.setEncoding('utf8').toArray()
  await once(child, 'close')
  return (await output).join('')
}

/** Runs one statement over another connection and returns its row. */
function sql(path: string, statement: string): Record<string, unknown> {
  const database = new DatabaseSync(path)
  try {
    return database.prepare(statement).get() ?? {}
  } finally {
    database.close()
  }
}
