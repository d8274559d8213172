import { cpSync, existsSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { ConfigError } from '../../../../src/errors.ts'
import { checkDatabase } from '../../../../src/store/sqlite/database.ts'
import { openSqliteStore, readSqliteRows } from '../../../../src/store/sqlite/store.ts'
import { damageHeader } from '../../../helpers/damaged-database.ts'
import { temporaryFolder } from '../../../helpers/run-cli.ts'
import { loaded, notified, published, publishOf } from '../../../helpers/store/subject.ts'

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

for (const isLink of [false, true])
  test(`SQLite file: a log whose file is missing${isLink ? ' behind a link' : ''} is refused, and not deleted`, async (t) => {
    const { path, store } = setUp(t)
    await published(store, publishOf('L'))
    const killed = `${path}.killed`
    const named = isLink ? `${path}.link` : killed
    if (isLink) symlinkSync(killed, named)
    cpSync(`${path}-wal`, `${killed}-wal`)
    for (const open of [openSqliteStore, checkDatabase])
      t.throws(() => open(named), {
        instanceOf: ConfigError,
        message: /killed does not exist, and .*killed-wal has its latest writes: put the file back/,
      })
    t.false(existsSync(killed))
    cpSync(path, killed)
    const again = openSqliteStore(named)
    t.teardown(() => again.close())
    t.deepEqual(await loaded(again), await loaded(store))
  })

test('SQLite file: other processes, checkpoints and backups do not count as a loss', async (t) => {
  const { path, store } = setUp(t)
  await published(store, publishOf('L'))
  const other = openSqliteStore(path)
  await published(other, publishOf('M'))
  await other.close()
  await store.ping()
  const backup = readSqliteRows(path)
  t.is((await backup.after(['listings'], 0, 10)).rows.length, 2)
  await backup.close()
  for (let n = 0; n < 30; n++)
    await published(store, publishOf('L', { fields: { demands: JSON.stringify(['x'.repeat(60_000), n]) } }))
  t.is((await published(store, publishOf('N'))).listingId, 'N')
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
