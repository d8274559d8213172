import test from 'ava'
import { GONE } from '../../../../src/domain/feed-entry.ts'
import type { Feed, FeedAppend, NewFeedChange } from '../../../../src/store/feed.ts'
import type { Store } from '../../../../src/store/store.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { type OpenStore, published, publishOf } from '../../../helpers/store/subject.ts'

const KEPT: FeedAppend = { followed: null, maxBytes: 1_000_000, retentionMs: 3_600_000 }
/** More changes than any store appends in one step. */
const MANY = 600

const change = (key: string, state = 'a', more: Partial<NewFeedChange> = {}): NewFeedChange => ({
  source: 'local',
  key,
  listingId: key,
  publisher: '0xa11ce',
  state,
  known: 0,
  ...more,
})

async function keysIn(feed: Feed, after = 0): Promise<string[]> {
  const { entries } = await feed.read(after, 1000)
  return entries.map(({ source, key, state }) => `${source} ${key} ${state || 'gone'}`)
}

/** The log behind `GET /changes`. */
export function feedContract(name: string, open: OpenStore): void {
  test(`${name}: a feed gives its entries in order, whole and behind any position`, async (t) => {
    const { feed } = (await open(t)).store
    const empty = await feed.read(0, 10)
    t.like(empty, { entries: [], end: 0, droppedTo: 0, followed: null })
    const odd = change('0x1/ä\u0001', 'x y', { source: 'eu', publisher: null, listingId: 'ä\u0001"' })
    await feed.append([change('a'), odd, change('c', GONE)], { ...KEPT, followed: '12' })
    const { entries, ...log } = await feed.read(0, 10)
    t.deepEqual(log, {
      incarnation: empty.incarnation,
      end: entries.at(-1)!.position,
      droppedTo: 0,
      followed: '12',
    })
    const positions = entries.map(({ position }) => position)
    t.deepEqual(
      positions,
      positions.toSorted((one, other) => one - other),
    )
    t.is(new Set([0, ...positions]).size, 4)
    t.deepEqual(
      entries.map(({ at: _, position: __, ...entry }) => entry),
      [change('a'), odd, change('c', GONE)].map(({ known: _, ...entry }) => entry),
    )
    t.true(
      entries.every(({ at }) => at > Date.UTC(2026)),
      'milliseconds of the store',
    )
    t.deepEqual(await keysIn(feed, positions[0]), ['eu 0x1/ä\u0001 x y', 'local c gone'])
    t.is((await feed.read(0, 2)).entries.length, 2)
    await feed.append([], KEPT)
    t.is((await feed.read(positions[2]!, 10)).followed, '12')
  })

  test(`${name}: a feed keeps the latest entry of each key of each source`, async (t) => {
    const { feed } = (await open(t)).store
    await feed.append([change('a'), change('b'), change('a', 'b'), change('a', 'a', { source: 'eu' })], KEPT)
    t.deepEqual(await keysIn(feed), ['local b a', 'local a b', 'eu a a'])
    await feed.append([change('b', GONE)], KEPT)
    t.deepEqual(await keysIn(feed), ['local a b', 'eu a a', 'local b gone'])
    t.is((await feed.read(0, 10)).droppedTo, 0, 'a superseded entry is not lost')
  })

  test(`${name}: a feed leaves out what another process has appended, if that was not read before`, async (t) => {
    const { feed } = (await open(t)).store
    await feed.append([change('a', 'new')], KEPT)
    const { end } = await feed.read(0, 10)
    await feed.append([change('a', 'new', { known: 0 })], KEPT)
    t.is((await feed.read(0, 10)).end, end)
    await feed.append([change('a', 'new', { known: end })], KEPT)
    const { end: later } = await feed.read(0, 10)
    t.true(later > end, 'readers of this process have got the entry with the content before')
    await feed.append([change('a', 'other', { known: 0 })], KEPT)
    t.true((await feed.read(0, 10)).end > later)
  })

  test(`${name}: a feed drops its oldest entries by size and age, and says up to where`, async (t) => {
    const { feed } = (await open(t)).store
    const keys = Array.from({ length: MANY }, (_, n) => `key-${n}`)
    await feed.append(
      keys.map((key) => change(key)),
      KEPT,
    )
    const { droppedTo: none } = await feed.read(0, 10)
    const last = (await feed.read(0, MANY)).entries.at(-2)!.position
    await feed.append([change('key-0', 'b')], { ...KEPT, maxBytes: 1000 })
    const { entries, end, droppedTo } = await feed.read(0, 10)
    t.true(entries.length > 1 && entries.length < 10)
    t.true(none === 0 && droppedTo > 0 && droppedTo < entries[0]!.position && entries[0]!.position <= last)
    t.like(entries.at(-1), { key: 'key-0', position: end })
    await feed.append([], { ...KEPT, retentionMs: -60_000 })
    t.like(await feed.read(0, 10), { entries: [], end, droppedTo: end })
    await feed.append([change('late')], KEPT)
    t.is((await feed.read(end, 10)).entries[0]?.key, 'late')
  })

  test(`${name}: a renewed feed is another log, and begins again`, async (t) => {
    const { feed } = (await open(t)).store
    await feed.append([change('a')], KEPT)
    const before = await feed.read(0, 10)
    await feed.renew('5')
    const { incarnation, ...log } = await feed.read(0, 10)
    t.not(incarnation, before.incarnation)
    t.deepEqual(log, { entries: [], end: 0, droppedTo: 0, followed: '5' })
  })

  test(`${name}: processes share one feed, which outlives them, and a publish appends nothing to it`, async (t) => {
    const { store, another } = await open(t)
    const other = await another()
    const notified = new Set<Store>()
    const stops = [store, other].map((one) => one.feed.onAppend(() => notified.add(one)))
    await published(store, publishOf('L'))
    t.deepEqual(await keysIn(store.feed), [])
    notified.clear()
    await store.feed.append([change('a')], KEPT)
    await eventually('both processes are notified', () => notified.size === 2)
    await Promise.all([store.feed.append([change('b')], KEPT), other.feed.append([change('c')], KEPT)])
    const log = await store.feed.read(0, 10)
    t.deepEqual(await other.feed.read(0, 10), log)
    t.is(log.entries.length, 3)
    for (const stop of stops) stop()
    await store.close()
    await other.close()
    t.deepEqual(await (await another()).feed.read(0, 10), log)
  })
}
