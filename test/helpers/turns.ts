import type { Teardown } from './registry.ts'

/** Counts the turns of the event loop until the test ends. */
export function countTurns(t: Teardown): { now: number } {
  const turn = { now: 0 }
  let timer = setImmediate(next)
  t.teardown(() => clearImmediate(timer))
  return turn

  function next(): void {
    turn.now++
    timer = setImmediate(next)
  }
}
