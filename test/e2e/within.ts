import { setTimeout } from 'node:timers/promises'

const POLL_MS = 20

/** Whether a condition becomes true within a second, the replicas' limit. */
export async function withinASecond(isTrue: () => Promise<boolean>): Promise<boolean> {
  const end = performance.now() + 1000
  for (;;) {
    const isLast = performance.now() >= end
    if (await isTrue()) return true
    if (isLast) return false
    await setTimeout(POLL_MS)
  }
}
