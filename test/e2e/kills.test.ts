import test, { type ExecutionContext } from 'ava'
import { killOne, killRedisToo, killTwo } from './killing.ts'
import type { Outcome } from './storm-round.ts'

const heldThrough = (t: ExecutionContext, kills: number, outcome: Outcome): void => {
  const { faults, acknowledged, repeated, listings } = outcome
  t.deepEqual(faults, [])
  t.true(outcome.kills >= kills)
  t.true(acknowledged > kills * 5, 'there was a storm')
  t.true(repeated > 0, 'kills cut requests')
  t.log({ kills: outcome.kills, acknowledged, repeated, listings })
}

test('a process on SQLite that is killed loses nothing that it acknowledged', async (t) => {
  t.timeout(120_000)
  heldThrough(t, 26, await killOne(26))
})

test('of two processes on one SQLite file, each killed at any moment, none loses anything', async (t) => {
  t.timeout(120_000)
  heldThrough(t, 26, await killTwo(26))
})

test('two processes on one Redis lose nothing when they are killed, nor when Redis is', async (t) => {
  t.timeout(120_000)
  heldThrough(t, 12, await killRedisToo(12))
})
