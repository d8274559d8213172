import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'

/**
 * Loaded into a process with `--import`: waits by `node:timers/promises` end at once, and both clocks advance by their time.
 * A wait ends early, as the timers of a process may by the wall clock. Timeouts by `setTimeout` stay real.
 */
const now = Date.now
const elapsed = performance.now.bind(performance)
/** More than a request and its answer take. */
const EARLY_MS = 100
let skippedMs = 0
Date.now = () => now() + skippedMs
performance.now = () => elapsed() + skippedMs
timers.setTimeout = (async (ms = 0, value) => {
  skippedMs += Math.max(0, ms - EARLY_MS)
  // Other tasks run as during a real wait.
  await timers.setImmediate()
  return value
}) as typeof timers.setTimeout
syncBuiltinESMExports()
