import test from 'ava'
import { MemoryBudget } from '../../src/context/memory-budget.ts'
import { listingTexts } from '../helpers/fake-registry.ts'
import { manualClock } from '../helpers/manual-clock.ts'
import { openUpstream, runCache } from '../helpers/upstream.ts'

test('snapshots and cached runs share cache.max_bytes, of which the runs keep a quarter', async (t) => {
  const clock = manualClock()
  const runs = runCache(clock, 1_000_000)
  const budget = new MemoryBudget(runs, 1_000_000, 4)
  t.is(budget.maxSnapshotBytes, 125_000)
  t.is(budget.maxSharedBytes, 250_000)
  const { read, status } = await openUpstream(
    t,
    { items: listingTexts('a', 200) },
    { clock, parts: { runs } },
  )
  for (let n = 0; n < 30; n++) await read({ via: [`gateway-${n}`] }, { count: 150 })
  const bytes = () => status().cache.bytes
  t.true(bytes() > 900_000)
  const holders = [{}, {}]
  for (const [holder, held, most] of [
    [0, 300_000, 700_000],
    [1, 200_000, 500_000],
    [1, 5_000_000, 250_000],
  ] as const) {
    budget.hold(holders[holder]!, held)
    t.true(bytes() <= most && bytes() > most - 100_000, String(bytes()))
  }
  budget.hold(holders[0]!, 0)
  budget.hold(holders[1]!, 0)
  budget.configure(100_000, 1)
  t.is(budget.maxSnapshotBytes, 50_000)
  t.true(bytes() <= 100_000)
})
