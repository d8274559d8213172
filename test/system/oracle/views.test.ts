import test from 'ava'
import { compareViews } from './views.ts'

const SEEDS = [1, 2]
const REQUESTS = 60

test('views: a reader is answered as by a gateway that never had the hidden sources and listings', async (t) => {
  t.timeout(300_000)
  for (const seed of SEEDS) {
    const { compared, hidden, faults } = await compareViews(seed, REQUESTS)
    t.deepEqual(faults, [])
    t.is(compared, REQUESTS)
    t.true(hidden > 5, 'there was something to leak')
  }
})
