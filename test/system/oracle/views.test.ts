import test from 'ava'
import { compareViews } from './views.ts'

/** Among them there are liars, sources that are away, rules, and blocks that are set and lifted. */
const SEEDS = [2, 14]
const REQUESTS = 56

test('views: a reader is answered as by a gateway that never had the hidden sources and listings', async (t) => {
  t.timeout(300_000)
  for (const seed of SEEDS) {
    const { compared, hidden, changes, faults } = await compareViews(seed, REQUESTS)
    t.deepEqual(faults, [])
    t.is(compared, REQUESTS)
    t.true(hidden > 5, 'there was something to leak')
    t.true(changes > 0, 'something was followed')
  }
})
