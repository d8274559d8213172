import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { openSqliteStore } from '../../../../src/store/sqlite/store.ts'
import { temporaryFolder } from '../../../helpers/run-cli.ts'
import { freshUse, published, publishOf } from '../../../helpers/store/subject.ts'

const HOUR_MS = 3_600_000

/** The wall clock, which stands still between changes of `now`. */
function stopClock(t: ExecutionContext): { now: number } {
  const wall = { now: Date.UTC(2026, 10, 20, 12) }
  const { now } = Date
  Date.now = () => wall.now
  t.teardown(() => {
    Date.now = now
  })
  return wall
}

test.serial('SQLite clock: times follow a clock set forward and never go back', async (t) => {
  const folder = temporaryFolder(t)
  const wall = stopClock(t)
  const open = () => openSqliteStore(join(folder, 'entrepot.db'))
  let store = open()
  const use = () => freshUse({ now: 0 }) // no signature expires
  const createdAt = async (id: string) => (await published(store, publishOf(id, { use: use() }))).createdAt
  t.is(await createdAt('first'), wall.now * 1000)
  wall.now += HOUR_MS
  const forward = await createdAt('an hour on')
  t.is(forward, wall.now * 1000)
  wall.now -= HOUR_MS
  const back = await createdAt('an hour back')
  t.true(back > forward && back < forward + 10)
  await store.close()
  store = open()
  t.teardown(() => store.close())
  const restarted = await createdAt('after a restart')
  t.true(restarted > back && restarted < back + 10)
  wall.now += HOUR_MS + 1
  t.is(await createdAt('the time is past'), wall.now * 1000)
})

test.serial(
  'SQLite clock: set back to the first use of a signature, it makes that good for no further listing',
  async (t) => {
    const wall = stopClock(t)
    const store = openSqliteStore(':memory:')
    t.teardown(() => store.close())
    const use = (now: number) => freshUse({ signature: 'captured', now: now * 1000 })
    await published(store, publishOf('first', { use: use(wall.now) }))
    wall.now += 1000
    await published(store, publishOf('of the same second', { use: use(wall.now) }))
    wall.now += HOUR_MS
    await published(store, publishOf('of another signature'))
    wall.now -= HOUR_MS
    t.deepEqual(await store.publish(publishOf('further', { use: use(wall.now) })), {
      outcome: 'signature_reused',
    })
  },
)
