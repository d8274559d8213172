import test from 'ava'
import { compareViews } from './views.ts'

/** Among them there are liars, sources that are away, rules, and blocks that are set and lifted. */
const SEEDS = [
  { seed: 2, requests: 32 },
  { seed: 14, requests: 40 },
  { seed: 600_008, requests: 8 },
  { seed: 600_021, requests: 40 },
]

test('views: a reader is answered as by a gateway that never had the hidden sources and listings', async (t) => {
  t.timeout(300_000)
  let followed = 0
  for (const { seed, requests } of SEEDS) {
    const { compared, hidden, changes, faults } = await compareViews(seed, requests)
    t.deepEqual(faults, [])
    t.is(compared, requests)
    t.true(hidden > 5, 'there was something to leak')
    followed += changes
  }
  t.true(followed > 0, 'something was followed')
})
