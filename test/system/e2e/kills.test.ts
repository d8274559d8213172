import test, { type ExecutionContext } from 'ava'
import { startProcess } from '../../helpers/service-process.ts'
import { killRedisToo, killTwo } from './killing.ts'
import type { StormOutcome } from './storm-round.ts'

function heldThrough(t: ExecutionContext, kills: number, outcome: StormOutcome): void {
  const { faults, acknowledged, repeated, listings } = outcome
  t.deepEqual(faults, [])
  t.true(outcome.kills >= kills)
  t.true(acknowledged > kills * 2, 'there was a storm')
  t.true(repeated > 0, 'kills cut requests')
  t.log({ kills: outcome.kills, acknowledged, repeated, listings })
}

const MINUTES = 60_000

// A killed process writes no compile cache: without this, each start takes twice as long.
test.before(async () => {
  const { end } = await startProcess('sqlite::memory:')
  await end('SIGTERM')
})

test('kills: two killed processes on one SQLite file lose no acknowledged write', async (t) => {
  t.timeout(5 * MINUTES)
  heldThrough(t, 4, await killTwo(4))
})

test('kills: two processes on one Redis lose nothing when they or Redis are killed', async (t) => {
  t.timeout(5 * MINUTES)
  heldThrough(t, 4, await killRedisToo(4))
})
