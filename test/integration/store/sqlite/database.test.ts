import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gunzipSync } from 'node:zlib'
import test, { type ExecutionContext } from 'ava'
import { ConfigError } from '../../../../src/errors.ts'
import { checkDatabase } from '../../../../src/store/sqlite/database.ts'
import { openSqliteStore, readSqliteRows } from '../../../../src/store/sqlite/store.ts'
import { temporaryFolder } from '../../../helpers/run-cli.ts'
import { loaded, published, publishOf } from '../../../helpers/store/subject.ts'

const inDirectory = (t: ExecutionContext, name = 'file.db'): string => join(temporaryFolder(t), name)

const fixture = (name: string) => (path: string) =>
  writeFileSync(path, gunzipSync(readFileSync(new URL(`../../../fixtures/stores/${name}`, import.meta.url))))

const storeOf = (schema: number) => async (path: string) => {
  await openSqliteStore(path).close()
  sql(path, `PRAGMA user_version = ${schema}`)
}

const older = (schema: number): RegExp =>
  new RegExp(
    `was written by an older entrepot \\(schema ${schema}, this one reads 3\\), and is not converted: .*\`entrepot sync\``,
  )
const FOREIGN = /database of another program: name another file/

const UNFIT: readonly [what: string, create: (path: string) => unknown, message: RegExp][] = [
  [
    'a newer schema',
    storeOf(4),
    /newer entrepot \(schema 4, this one reads up to 3\): run that version again/,
  ],
  ['an older schema', storeOf(2), older(2)],
  ['0.4.0', fixture('0.4.0.db.gz'), older(1)],
  ['a backup of 0.4.0', fixture('0.4.0-backup.db.gz'), older(1)],
  ['tables of another program', (path) => sql(path, 'CREATE TABLE theirs (a)'), FOREIGN],
  ['a version of another program', (path) => sql(path, 'PRAGMA user_version = 1'), FOREIGN],
  [
    'no database',
    (path) => writeFileSync(path, 'not a database, but long enough to have a header. '.repeat(40)),
    /file\.db cannot be opened: file is not a database; name another file/,
  ],
]

for (const [what, create, message] of UNFIT)
  test(`SQLite open: a file of ${what} is refused and unchanged, as a store and as a backup`, async (t) => {
    const path = inDirectory(t)
    await create(path)
    const bytes = readFileSync(path)
    const error = t.throws(() => openSqliteStore(path), { instanceOf: ConfigError, message })
    t.is(error.problems[0]?.path, 'STORE_URL')
    for (const read of [checkDatabase, readSqliteRows])
      t.throws(() => read(path), { instanceOf: ConfigError, message })
    t.deepEqual(readFileSync(path), bytes)
  })

test('SQLite open: an impossible path is refused with what to do', (t) => {
  const path = inDirectory(t)
  mkdirSync(path)
  const message = /file\.db cannot be opened: .*or name another/
  t.throws(() => openSqliteStore(path), { instanceOf: ConfigError, message })
  const file = inDirectory(t)
  writeFileSync(file, '')
  t.throws(() => openSqliteStore(join(file, 'entrepot.db')), {
    instanceOf: ConfigError,
    message: /or name another/,
  })
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
