import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'

/**
 * Loaded into a process with `--import`: its waits by `node:timers/promises` end at once, and its wall clock has gone on
 * by as much. Timeouts by `setTimeout` stay real.
 */
const now = Date.now
let skippedMs = 0
Date.now = () => now() + skippedMs
timers.setTimeout = (async (ms = 0, value) => {
  skippedMs += ms
  // Others get their turn as they would during the wait.
  await timers.setImmediate()
  return value
}) as typeof timers.setTimeout
syncBuiltinESMExports()
