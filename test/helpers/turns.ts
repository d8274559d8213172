import type { Teardown } from './registry.ts'

/** Milliseconds by which each look at the clock moves it: long work takes as many turns on a fast machine as on a slow one. */
const STEP_MS = 3

/** Counts the turns of the event loop until the test ends, on a clock that moves when it is read: for a `test.serial`. */
export function countTurns(t: Teardown): { now: number } {
  const turn = { now: 0 }
  const { now } = performance
  let reads = 0
  performance.now = () => now.call(performance) + STEP_MS * ++reads
  let timer = setImmediate(next)
  t.teardown(() => {
    clearImmediate(timer)
    performance.now = now
  })
  return turn

  function next(): void {
    turn.now++
    timer = setImmediate(next)
  }
}
