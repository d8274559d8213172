import test, { type ExecutionContext } from 'ava'
import { EntrepotError } from '../../../src/errors.ts'
import { CopyIndex } from '../../../src/listing-index/copy-index.ts'
import { Replica } from '../../../src/registry/replica.ts'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import type { Store } from '../../../src/store/store.ts'
import { eventually } from '../../helpers/eventually.ts'
import { manualClock } from '../../helpers/manual-clock.ts'
import { NAME, OneSource } from '../../helpers/one-source.ts'
import { published, publishOf, removeOf } from '../../helpers/store/subject.ts'
import { VOCABULARY } from '../../helpers/vocabulary.ts'

function openStore(t: ExecutionContext): Store {
  const store = openSqliteStore(':memory:')
  t.teardown(() => store.close())
  return store
}

/** A store whose changelog can be made to fail, or to be lost, some times in a row. */
function openFaulty(t: ExecutionContext) {
  const store = openStore(t)
  const { changesAfter } = store
  const faults = { failures: 0, losses: 0, reads: 0 }
  store.changesAfter = async (position, limit) => {
    faults.reads++
    if (faults.failures > 0) {
      faults.failures--
      throw new EntrepotError('unavailable', 'out for a moment')
    }
    if (faults.losses > 0) {
      faults.losses--
      return 'lost'
    }
    return changesAfter.call(store, position, limit)
  }
  return { store, faults }
}

async function follow(t: ExecutionContext, store: Followed) {
  const clock = manualClock()
  const reported: unknown[] = []
  const recovered: number[] = []
  const replica = await Replica.open(store, {
    index: new CopyIndex([]),
    name: NAME,
    vocabulary: VOCABULARY,
    onFault: (cause) => reported.push(cause),
    onRecovery: () => recovered.push(clock.now()),
    clock,
  })
  t.teardown(() => replica.close())
  return { replica, clock, reported, recovered }
}

/** Work started so far has ended: the store in memory needs at most one turn of the event loop. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

const idsOf = ({ projection }: Replica): string[] =>
  [...projection.publishers.keys()].flatMap((id) =>
    [...OneSource.of(projection).entries({ status: null, criteria: [], sellers: new Set([id]) })].map(
      ({ listingId }) => listingId,
    ),
  )

test('replica: a failed read is retried without a change and reported once', async (t) => {
  const { store, faults } = openFaulty(t)
  const { replica, clock, reported, recovered } = await follow(t, store)
  faults.failures = 3
  await published(store, publishOf('L'))
  await settled()
  t.deepEqual(idsOf(replica), [])
  for (const wait of [100, 200]) {
    clock.advance(wait)
    await settled()
    t.deepEqual(idsOf(replica), [])
  }
  clock.advance(400)
  await settled()
  t.deepEqual(idsOf(replica), ['L'])
  t.deepEqual([reported.length, recovered.length], [1, 1])
  t.is(clock.pending(), 1, 'the next poll')

  faults.failures = 1
  await t.throwsAsync(replica.catchUp(), { code: 'unavailable' }, 'callers get the failure')
  t.is(reported.length, 2, 'another outage, another report')
})

test('replica: reads of an unreachable store back off', async (t) => {
  const { store, faults } = openFaulty(t)
  const { replica, clock } = await follow(t, store)
  faults.failures = Number.POSITIVE_INFINITY
  await t.throwsAsync(replica.catchUp())
  const before = faults.reads
  for (let ms = 0; ms < 60_000; ms += 100) {
    clock.advance(100)
    await settled()
  }
  t.true(faults.reads - before >= 30 && faults.reads - before <= 35, `${faults.reads - before}`)
})

test('replica: a change without a notification is read within 10 s', async (t) => {
  const store = openStore(t)
  const { replica, clock } = await follow(t, deaf(store))
  for (const id of ['L', 'M']) {
    await published(store, publishOf(id))
    clock.advance(9_999)
    await settled()
    t.false(idsOf(replica).includes(id))
    clock.advance(1)
    await settled()
    t.true(idsOf(replica).includes(id))
  }
})

test('replica: it is current until its last successful read is a minute old', async (t) => {
  const { store, faults } = openFaulty(t)
  const { replica, clock } = await follow(t, store)
  await replica.catchUp()
  clock.advance(10_000)
  await settled()
  faults.failures = Number.POSITIVE_INFINITY
  clock.advance(60_000)
  t.true(replica.isCurrent())
  clock.set(7_200_000)
  t.true(replica.isCurrent(), 'by time that has passed, not by the clock of the wall')
  clock.advance(1)
  clock.set(-7_200_000)
  t.false(replica.isCurrent())
  await t.throwsAsync(replica.catchUp())
  t.false(replica.isCurrent())
  faults.failures = 0
  await replica.catchUp()
  t.true(replica.isCurrent())
})

test('replica: a closed replica reads and reports nothing', async (t) => {
  const { store, faults } = openFaulty(t)
  const { replica, clock, reported } = await follow(t, store)
  faults.failures = 1
  await published(store, publishOf('L'))
  await settled()
  replica.close()
  t.is(clock.pending(), 0)
  faults.failures = 1
  await t.throwsAsync(replica.catchUp())
  t.is(clock.pending(), 0)
  t.is(reported.length, 1)
})

test('replica: a lost changelog replaces the whole projection', async (t) => {
  const { store, faults } = openFaulty(t)
  const { replica, reported } = await follow(t, store)
  await Promise.all(['gone', 'stays'].map((id) => published(store, publishOf(id))))
  await settled()
  const before = replica.projection
  const seen: (readonly string[])[] = []
  const { load } = store
  // A reader during the load, after each visited item.
  store.load = (visitor) =>
    load.call(store, {
      change: (change) => {
        visitor.change(change)
        seen.push(idsOf(replica).sort())
      },
      listings: async (page) => {
        await visitor.listings(page)
        seen.push(idsOf(replica).sort())
      },
    })
  faults.failures = 1
  await t.throwsAsync(replica.catchUp())
  faults.failures = 1 // the removal is not followed, only loaded
  await store.remove(removeOf('gone'))
  await settled()
  faults.losses = 1
  await replica.catchUp()
  t.deepEqual(idsOf(replica), ['stays'])
  t.not(replica.projection, before)
  t.true(seen.length >= 2)
  for (const ids of seen) t.deepEqual(ids, ['gone', 'stays'])
  t.is(reported.length, 1)
})

test('replica: a failed reload keeps the projection and is retried', async (t) => {
  const { store, faults } = openFaulty(t)
  const { replica, clock, reported } = await follow(t, store)
  await published(store, publishOf('L'))
  await settled()
  const before = replica.projection
  const { load } = store
  store.load = async () => {
    store.load = load
    throw new EntrepotError('unavailable', 'out for a moment')
  }
  faults.losses = 2
  await t.throwsAsync(replica.catchUp())
  t.is(replica.projection, before)
  clock.advance(100)
  await eventually('loaded', () => replica.projection !== before)
  t.deepEqual(idsOf(replica), ['L'])
  t.is(reported.length, 1)
})

test('replica: a linked catchUp waits for both replicas', async (t) => {
  const store = openStore(t)
  const { replica } = await follow(t, store)
  // Without notifications, it knows what it reads itself.
  const { replica: other } = await follow(t, deaf(store))
  await published(store, publishOf('before'))
  await replica.catchUp()
  t.deepEqual(idsOf(other), [])
  replica.linkCatchUp(other)
  await published(store, publishOf('after'))
  await replica.catchUp()
  t.deepEqual(idsOf(other).sort(), ['after', 'before'])
})

test('replica: a listing that is replaced during a load is held once', async (t) => {
  const store = openStore(t)
  const ids = Array.from({ length: 2300 }, (_, n) => `L${n}`)
  await Promise.all(ids.map((id) => published(store, publishOf(id))))
  let pages = 0
  const replacing: Followed = {
    ...deaf(store),
    load: (visit) =>
      store.load({
        change: visit.change,
        listings: async (page) => {
          await visit.listings(page)
          if (pages++ === 0) await published(store, publishOf('L0', { status: 'closed' }))
        },
      }),
  }
  const { replica } = await follow(t, replacing)
  t.deepEqual(idsOf(replica).sort(), ids.sort())
})

type Followed = Pick<Store, 'load' | 'changesAfter' | 'onChange'>

const deaf = (store: Store): Followed => ({
  load: (visit) => store.load(visit),
  changesAfter: (position, limit) => store.changesAfter(position, limit),
  onChange: () => () => {},
})
