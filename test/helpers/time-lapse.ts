import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'

/**
 * Loaded into a process with `--import`: waits by `node:timers/promises` end at once, and both clocks advance by their time.
 * Timeouts by `setTimeout` stay real.
 */
const now = Date.now
const elapsed = performance.now.bind(performance)
let skippedMs = 0
Date.now = () => now() + skippedMs
performance.now = () => elapsed() + skippedMs
timers.setTimeout = (async (ms = 0, value) => {
  skippedMs += ms
  // Other tasks run as during a real wait.
  await timers.setImmediate()
  return value
}) as typeof timers.setTimeout
syncBuiltinESMExports()
