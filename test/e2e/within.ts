import { setTimeout } from 'node:timers/promises'

const POLL_MS = 20

/** Whether something comes true within a second: what replicas promise each other. */
export async function withinASecond(isTrue: () => Promise<boolean>): Promise<boolean> {
  const end = performance.now() + 1000
  for (;;) {
    const isLast = performance.now() >= end
    if (await isTrue()) return true
    if (isLast) return false
    await setTimeout(POLL_MS)
  }
}
