import { setImmediate, setTimeout } from 'node:timers/promises'
import { inspect } from 'node:util'

/**
 * Looks until the value holds, by default until it is not falsy, and resolves with it. The only wait of tests for work in the
 * background and in other processes: a promise that is broken fails with what was awaited and what was seen last.
 */
export async function eventually<T>(
  what: string,
  look: () => T | Promise<T>,
  holds: (value: T) => boolean = Boolean,
): Promise<T> {
  const end = performance.now() + BOUND_MS
  for (let looks = 1; ; looks++) {
    const value = await look()
    if (holds(value)) return value
    if (performance.now() > end)
      throw new Error(`never ${what}; the last of ${looks} looks saw ${inspect(value)}`)
    await (looks < TURNS ? setImmediate() : setTimeout(PAUSE_MS))
  }
}

/** Far more than a busy machine needs, and less than the limit of the test runner, which would say less. */
const BOUND_MS = 120_000
/** Work of this process needs turns of its event loop, that of other processes needs the processor. */
const TURNS = 100
const PAUSE_MS = 10
