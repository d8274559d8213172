import { setTimeout } from 'node:timers/promises'

const INTERVAL_MS = 20
/** Replicas poll the changelog every 10 s, and show a notified change within milliseconds. */
const LIMIT_MS = 5000

/** Whether a condition becomes true sooner than by a poll of the changelog. */
export async function beforePoll(isTrue: () => Promise<boolean>): Promise<boolean> {
  const end = performance.now() + LIMIT_MS
  for (;;) {
    const isLast = performance.now() >= end
    if (await isTrue()) return true
    if (isLast) return false
    await setTimeout(INTERVAL_MS)
  }
}
