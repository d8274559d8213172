import { join } from 'node:path'
import test from 'ava'
import { openSqliteStore } from '../../../../src/store/sqlite/store.ts'
import { temporaryFolder } from '../../../helpers/run-cli.ts'
import { freshUse, published, publishOf } from '../../../helpers/store/subject.ts'

const HOUR_MS = 3_600_000

test.serial('SQLite clock: times follow a clock set forward and never go back', async (t) => {
  const folder = temporaryFolder(t)
  let wall = Date.UTC(2026, 10, 20, 12)
  const realNow = Date.now
  Date.now = () => wall
  t.teardown(() => {
    Date.now = realNow
  })
  const open = () => openSqliteStore(join(folder, 'entrepot.db'))
  let store = open()
  const use = () => freshUse({ now: 0 }) // no signature expires
  const createdAt = async (id: string) => (await published(store, publishOf(id, { use: use() }))).createdAt
  t.is(await createdAt('first'), wall * 1000)
  wall += HOUR_MS
  const forward = await createdAt('an hour on')
  t.is(forward, wall * 1000)
  wall -= HOUR_MS
  const back = await createdAt('an hour back')
  t.true(back > forward && back < forward + 10)
  await store.close()
  store = open()
  t.teardown(() => store.close())
  const restarted = await createdAt('after a restart')
  t.true(restarted > back && restarted < back + 10)
  wall += HOUR_MS + 1
  t.is(await createdAt('the time is past'), wall * 1000)
})

test.serial(
  'SQLite clock: set back to the first use of a signature, it makes that good for no further listing',
  async (t) => {
    let wall = Date.UTC(2026, 10, 20, 12)
    const realNow = Date.now
    Date.now = () => wall
    const store = openSqliteStore(join(temporaryFolder(t), 'entrepot.db'))
    t.teardown(() => {
      Date.now = realNow
      return store.close()
    })
    const use = (now: number) => freshUse({ signature: 'captured', now: now * 1000 })
    await published(store, publishOf('first', { use: use(wall) }))
    wall += 1000
    await published(store, publishOf('of the same second', { use: use(wall) }))
    wall += HOUR_MS
    await published(store, publishOf('of another signature'))
    wall -= HOUR_MS
    t.deepEqual(await store.publish(publishOf('further', { use: use(wall) })), {
      outcome: 'signature_reused',
    })
  },
)
