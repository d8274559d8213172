import test, { type ExecutionContext } from 'ava'
import { openUpstreamCaches } from '../../../src/context/upstream-caches.ts'
import { listingTexts } from '../../helpers/fake-registry.ts'
import { startFake } from '../../helpers/gateway.ts'
import { manualClock } from '../../helpers/manual-clock.ts'
import { openUpstream, POLICY, upstreamOptions } from '../../helpers/upstream.ts'

/** Caches of four upstreams, the first of which has been read 30 times. */
async function open(t: ExecutionContext) {
  const clock = manualClock()
  const fake = await startFake(t, { items: listingTexts('a', 200) })
  const upstreams = ['a', 'b', 'c', 'd'].map((name, n) =>
    upstreamOptions({ name, url: fake.url, key: name, priority: n + 1 }),
  )
  const configOf = (maxBytes: number, from = 0) => ({
    cache: { ...POLICY, maxBytes },
    upstreams: upstreams.slice(from),
  })
  // Not divisible by four: a share of it may be a fraction.
  const config = configOf(1_000_002)
  const caches = await openUpstreamCaches({ redisUrl: null, snapshotFolder: null, clock })
  caches.activate(config)
  const parts = upstreams.map((upstream) => caches.partsOf(upstream))
  const { snapshots: _, ...cached } = parts[0]!
  const { read, status } = await openUpstream(t, {}, { name: 'a', key: 'a', clock, fake, parts: cached })
  const bytes = () => status().cache.bytes
  const readOnce = (n: number) => read({ via: [`gateway-${n}`] }, { count: 150 })
  await readOnce(0)
  const runBytes = bytes()
  for (let n = 1; n < 30; n++) await readOnce(n)
  return { caches, parts, configOf, bytes, runBytes }
}

test('caches: snapshots of better sources have memory first, and none more than a quarter', async (t) => {
  const { parts } = await open(t)
  const most = () => parts.map(({ snapshots }) => snapshots.maxBytes())
  t.deepEqual(most(), [250_000, 250_000, 250_000, 250_000])
  parts[1]!.snapshots.onResize(250_000)
  parts[2]!.snapshots.onResize(250_000)
  parts[3]!.snapshots.onResize(250_000)
  t.deepEqual(most(), [250_000, 250_000, 250_000, 250_000])
  parts[0]!.snapshots.onResize(250_000)
  t.deepEqual(most(), [250_000, 250_000, 250_000, 1])
})

test('caches: snapshots and runs share cache.max_bytes, of which the runs keep a quarter', async (t) => {
  const { parts, bytes, runBytes } = await open(t)
  t.true(bytes() > 1_000_000 - runBytes)
  for (const [holder, held, most] of [
    [1, 300_000, 700_000],
    [2, 200_000, 500_000],
    [2, 5_000_000, 250_000],
  ] as const) {
    parts[holder]!.snapshots.onResize(held)
    t.true(bytes() <= most && bytes() > most - runBytes, String(bytes()))
  }
})

test('caches: smaller limits hold once their configuration is adopted', async (t) => {
  const { caches, configOf, bytes, runBytes } = await open(t)
  caches.prepare(configOf(2 * runBytes))
  t.true(bytes() > 1_000_000 - runBytes)
  caches.activate(configOf(2 * runBytes))
  t.true(bytes() <= 2 * runBytes)
})

test('caches: a snapshot pulled after its upstream was removed, or became live, takes no memory', async (t) => {
  const { caches, configOf, bytes, runBytes } = await open(t)
  const config = configOf(1_000_000)
  const [first, second, ...others] = config.upstreams
  const snapshot = { ...second!, mode: 'snapshot' as const }
  const before = { ...config, upstreams: [first!, snapshot, ...others] }
  const { snapshots, state } = caches.partsOf(snapshot)
  caches.activate(before)
  caches.activate(config)
  snapshots.onResize(700_000)
  t.true(bytes() > 1_000_000 - 2 * runBytes, String(bytes()))
  t.not(caches.partsOf(second!).state, state)
})

test('caches: a removed upstream is forgotten, others are not', async (t) => {
  const { caches, parts, configOf, bytes } = await open(t)
  parts[1]!.snapshots.onResize(700_000)
  caches.activate(configOf(1_000_000, 2))
  t.is(bytes(), 0)
  const [first] = configOf(1_000_000).upstreams
  t.not(caches.partsOf(first!).state, parts[0]!.state)
  const [, , third] = configOf(1_000_000).upstreams
  t.is(caches.partsOf(third!).state, parts[2]!.state)
})
