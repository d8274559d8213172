import test from 'ava'
import { runFeeds } from './feeds.ts'

/**
 * Of a gateway on SQLite, and of replicas on one Redis. In 508 a publisher is blocked while a source refuses the key, in 860053 a
 * listing of a source that is held in part has another publisher, in 860103 one that was pushed out is gone once the source is whole, in 860132 a source
 * has lost one that a restarted replica restores, in 880002 one is passed over as pushed out, and is gone,
 * in 890071 it has changed by then, in 900108 a reader comes to the removal of a copy while the source of another one is away.
 */
const WORLDS = [
  { seed: 103, rounds: 4 },
  { seed: 508, rounds: 8 },
  { seed: 860053, rounds: 2 },
  { seed: 860103, rounds: 6 },
  { seed: 860132, rounds: 2 },
  { seed: 880002, rounds: 2 },
  { seed: 890071, rounds: 4 },
  { seed: 900108, rounds: 6 },
]

for (const { seed, rounds } of WORLDS)
  test(`changes: a reader that has caught up has what a reading has, seed ${seed}`, async (t) => {
    t.timeout(300_000)
    const { faults, ...counts } = await runFeeds(seed, { rounds })
    t.log(JSON.stringify(counts))
    t.deepEqual(faults, [])
    t.true(counts.compared > 0 && counts.changes > 0)
  })
