import test from 'ava'
import { openUpstreamCaches } from '../../../src/context/upstream-caches.ts'
import { CopyIndex } from '../../../src/listing-index/copy-index.ts'
import { manualClock } from '../../helpers/manual-clock.ts'
import { upstreamOptions } from '../../helpers/upstream.ts'

/** Caches of four upstreams, the first of which is the best. */
async function open() {
  const upstreams = ['a', 'b', 'c', 'd'].map((name, n) =>
    upstreamOptions({ name, url: 'http://registry.example', key: name, priority: n + 1 }),
  )
  const configOf = (maxBytes: number, from = 0) => ({
    cache: { freshSeconds: 15, maxBytes },
    upstreams: upstreams.slice(from),
  })
  const caches = await openUpstreamCaches({
    index: new CopyIndex([]),
    redisUrl: null,
    snapshotFolder: null,
    clock: manualClock(),
  })
  caches.activate(configOf(1_000_001))
  const parts = upstreams.map((upstream) => caches.partsOf(upstream))
  const most = () => parts.map(({ snapshots }) => snapshots.maxBytes())
  return { caches, parts, configOf, most }
}

test('caches: better sources have memory first, and none more than a half', async (t) => {
  const { parts, most } = await open()
  t.deepEqual(most(), [500_000, 500_000, 500_000, 500_000])
  parts[1]!.snapshots.onResize(400_000)
  parts[2]!.snapshots.onResize(400_000)
  t.deepEqual(most(), [500_000, 500_000, 500_000, 200_001])
  parts[0]!.snapshots.onResize(400_000)
  t.deepEqual(most(), [500_000, 500_000, 200_001, 0])
})

test('caches: larger limits hold at once, smaller ones when their configuration is adopted', async (t) => {
  const { caches, configOf, most } = await open()
  caches.prepare(configOf(4_000_000))
  t.is(most()[0], 2_000_000)
  caches.prepare(configOf(1_000_000))
  t.is(most()[0], 2_000_000)
  caches.activate(configOf(1_000_000))
  t.is(most()[0], 500_000)
})

test('caches: a removed upstream is forgotten, and takes no memory afterwards', async (t) => {
  const { caches, parts, configOf, most } = await open()
  parts[0]!.snapshots.onResize(500_000)
  caches.activate(configOf(1_000_000, 2))
  t.is(most()[3], 500_000)
  parts[0]!.snapshots.onResize(900_000)
  t.is(most()[3], 500_000)
  const { upstreams } = configOf(1_000_000)
  t.not(caches.partsOf(upstreams[0]!).state, parts[0]!.state)
  t.is(caches.partsOf(upstreams[2]!).state, parts[2]!.state)
})
