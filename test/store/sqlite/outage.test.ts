import { cpSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import { damageHeader } from '../../helpers/damaged-database.ts'
import { loaded, published, publishOf } from '../contract/subject.ts'

const UNAVAILABLE = { name: 'EntrepotError', code: 'unavailable' }
const REPLACED = { ...UNAVAILABLE, message: /the database file was moved, replaced or deleted/ }

function setUp(t: ExecutionContext) {
  const directory = mkdtempSync(join(tmpdir(), 'entrepot-outage-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const path = join(directory, 'entrepot.db')
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
