import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { ConfigError } from '../../../../src/errors.ts'
import { checkDatabase } from '../../../../src/store/sqlite/database.ts'
import { openSqliteStore, readSqliteStore } from '../../../../src/store/sqlite/store.ts'
import { damageHeader } from '../../../helpers/damaged-database.ts'
import { temporaryFolder } from '../../../helpers/run-cli.ts'
import { loaded, published, publishOf } from '../../../helpers/store/subject.ts'

const UNAVAILABLE = { name: 'EntrepotError', code: 'unavailable' }
const REPLACED = { ...UNAVAILABLE, message: /the database file was moved, replaced or deleted/ }

function setUp(t: ExecutionContext) {
  const path = join(temporaryFolder(t), 'entrepot.db')
  const store = openSqliteStore(path)
  t.teardown(() => store.close())
  return { path, store }
}

test('SQLite file: after a move, pings and writes fail until it is back', async (t) => {
  const { path, store } = setUp(t)
  await published(store, publishOf('L'))
  const before = await loaded(store)
  renameSync(path, `${path}.away`)
  await t.throwsAsync(store.ping(), REPLACED)
  await t.throwsAsync(store.publish(publishOf('M')), REPLACED)
  t.deepEqual(await loaded(store), before)
  cpSync(`${path}.away`, path)
  await t.throwsAsync(store.publish(publishOf('M')), REPLACED, 'a copy is another file')
  renameSync(`${path}.away`, path)
  await store.ping()
  t.is((await published(store, publishOf('M'))).listingId, 'M')
})

test('SQLite file: after a deletion, no write is acknowledged', async (t) => {
  const { path, store } = setUp(t)
  await published(store, publishOf('L'))
  rmSync(path)
  await t.throwsAsync(store.ping(), REPLACED)
  await t.throwsAsync(store.publish(publishOf('M')), REPLACED)
})

for (const after of ['nothing', 'an older copy'] as const)
  test(`SQLite file: with ${after} in its place, a restart keeps the moved file whole`, async (t) => {
    const { path, store } = setUp(t)
    await published(store, publishOf('L'))
    const older = await loaded(store)
    const copy = openSqliteStore(`${path}.copy`)
    await published(copy, publishOf('L'))
    await copy.close()
    for (let n = 0; n < 100; n++) await published(store, publishOf(`M${n}`))
    const all = await loaded(store)
    renameSync(path, `${path}.away`)
    if (after === 'an older copy') renameSync(`${path}.copy`, path)
    await store.close()

    const next = openSqliteStore(path)
    const { changes } = await loaded(next)
    t.is(changes.length, after === 'nothing' ? 0 : older.changes.length)
    await next.close()
    rmSync(path)
    renameSync(`${path}.away`, path)
    const again = openSqliteStore(path)
    t.teardown(() => again.close())
    t.deepEqual(await loaded(again), all)
  })

test('SQLite file: a log whose file is missing is refused, and not deleted', async (t) => {
  const { path, store } = setUp(t)
  await published(store, publishOf('L'))
  const killed = `${path}.killed`
  for (const end of ['', '-wal']) cpSync(path + end, killed + end)
  renameSync(killed, `${killed}.away`)
  for (const open of [openSqliteStore, checkDatabase])
    t.throws(() => open(killed), {
      instanceOf: ConfigError,
      message: /killed does not exist, and .*killed-wal has its latest writes: put the file back/,
    })
  t.false(existsSync(killed))
  renameSync(`${killed}.away`, killed)
  const again = openSqliteStore(killed)
  t.teardown(() => again.close())
  t.deepEqual(await loaded(again), await loaded(store))
})

/** What a process that is killed now leaves for the next start. */
function afterKill(t: ExecutionContext, path: string) {
  const killed = join(temporaryFolder(t), 'killed.db')
  for (const end of ['', '-wal']) if (existsSync(path + end)) cpSync(path + end, killed + end)
  const store = openSqliteStore(killed)
  t.teardown(() => store.close())
  return store
}

const LOG_LOST = { ...UNAVAILABLE, message: /the log of the database file \(-wal, -shm\) was moved/ }

for (const lost of [['-wal'], ['-shm'], ['-wal', '-shm']]) {
  const names = lost.join(' and ')
  test(`SQLite log: without ${names} writes are refused, and a restart has every acknowledged one`, async (t) => {
    const { path, store } = setUp(t)
    for (let n = 0; n < 20; n++) await published(store, publishOf(`L${n}`))
    const all = await loaded(store)
    for (const end of lost) rmSync(path + end)
    await t.throwsAsync(store.publish(publishOf('refused')), LOG_LOST)
    await t.throwsAsync(store.ping(), LOG_LOST)
    t.deepEqual(await loaded(store), all)
    t.deepEqual(await loaded(afterKill(t, path)), all)
    await store.close()
    const again = openSqliteStore(path)
    t.teardown(() => again.close())
    t.deepEqual(await loaded(again), all)
    await published(again, publishOf('after the restart'))
  })

  test(`SQLite log: without ${names} the writes of a process that starts then are kept`, async (t) => {
    const { path, store } = setUp(t)
    for (let n = 0; n < 20; n++) await published(store, publishOf(`L${n}`))
    for (const end of lost) rmSync(path + end)
    await t.throwsAsync(store.ping(), LOG_LOST)
    const program = `
      import { openSqliteStore, readSqliteStore } from ${JSON.stringify(join(import.meta.dirname, '../../../../src/store/sqlite/store.ts'))}
      import { published, publishOf } from ${JSON.stringify(join(import.meta.dirname, '../../../helpers/store/subject.ts'))}
      const store = openSqliteStore(process.argv[1])
      for (let n = 0; n < 5; n++) await published(store, publishOf('other ' + n))
      process.kill(process.pid, 'SIGKILL')`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program, path], {
      stdio: 'inherit',
    })
    await once(child, 'close')
    await t.throwsAsync(store.publish(publishOf('refused')), LOG_LOST)
    await store.close()
    const again = openSqliteStore(path)
    t.teardown(() => again.close())
    t.is((await loaded(again)).changes.filter(({ kind }) => kind === 'listing').length, 25)
  })
}

test('SQLite log: after a move, writes fail until it is back', async (t) => {
  const { path, store } = setUp(t)
  await published(store, publishOf('L'))
  renameSync(`${path}-wal`, `${path}.away`)
  await t.throwsAsync(store.ping(), LOG_LOST)
  renameSync(`${path}.away`, `${path}-wal`)
  await store.ping()
  await published(store, publishOf('M'))
  t.deepEqual(await loaded(afterKill(t, path)), await loaded(store))
})

test('SQLite log: other processes, checkpoints and backups do not count as a loss', async (t) => {
  const { path, store } = setUp(t)
  await published(store, publishOf('L'))
  const other = openSqliteStore(path)
  await published(other, publishOf('M'))
  await other.close()
  await store.ping()
  const backup = readSqliteStore(path)
  await loaded(backup)
  await backup.close()
  for (let n = 0; n < 30; n++)
    await published(store, publishOf('L', { fields: { demands: JSON.stringify(['x'.repeat(60_000), n]) } }))
  t.is((await published(store, publishOf('N'))).listingId, 'N')
})

test('SQLite file: a log whose file is missing behind a link is refused, and not deleted', async (t) => {
  const folder = temporaryFolder(t)
  const [path, link] = [join(folder, 'real.db'), join(folder, 'link.db')]
  symlinkSync('real.db', link)
  const store = openSqliteStore(link)
  t.teardown(() => store.close())
  await published(store, publishOf('L'))
  const killed = join(temporaryFolder(t), 'real.db')
  cpSync(`${path}-wal`, `${killed}-wal`)
  const away = join(folder, 'killed.db')
  symlinkSync(killed, away)
  for (const open of [openSqliteStore, checkDatabase])
    t.throws(() => open(away), { instanceOf: ConfigError, message: /real\.db-wal has its latest writes/ })
  t.false(existsSync(killed))
  cpSync(path, killed)
  const again = openSqliteStore(away)
  t.teardown(() => again.close())
  t.deepEqual(await loaded(again), await loaded(store))
})

test('SQLite file: only its owner can read a new file, its log and its folder', async (t) => {
  const folder = join(temporaryFolder(t), 'new')
  const path = join(folder, 'entrepot.db')
  const store = openSqliteStore(path)
  t.teardown(() => store.close())
  await published(store, publishOf('L'))
  const modeOf = (file: string): string => (statSync(file).mode & 0o777).toString(8)
  for (const end of ['', '-wal', '-shm']) t.is(modeOf(path + end), '600', end)
  t.is(modeOf(folder), '700')
})

test('SQLite poll: a failed poll notifies the listeners and polling continues', async (t) => {
  const { path, store } = setUp(t)
  const awake = setInterval(() => {}, 1000) // polls keep no process alive
  t.teardown(() => clearInterval(awake))
  await published(store, publishOf('L'))
  const repair = damageHeader(path)
  await notified(store)
  await t.throwsAsync(store.ping(), { ...UNAVAILABLE, message: /file is not a database/ })
  await t.throwsAsync(store.changesAfter('1', 1), UNAVAILABLE)
  repair()
  const other = openSqliteStore(path)
  t.teardown(() => other.close())
  await published(other, publishOf('M'))
  await notified(store)
  await store.ping()
  t.is((await loaded(store)).changes.filter(({ kind }) => kind === 'listing').length, 2)
})

const notified = (store: ReturnType<typeof openSqliteStore>): Promise<void> =>
  new Promise((resolve) => {
    const stop = store.onChange(() => {
      stop()
      resolve()
    })
  })
