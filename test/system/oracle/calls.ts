import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setImmediate } from 'node:timers/promises'
import type { ManualClock } from '../../helpers/manual-clock.ts'

/** Longest time that passes at once: shorter than any pull is delayed by. */
const STEP_MS = 3000

/** Advances the clock in steps; whatever is due is done between them. */
export const passIn =
  (clock: ManualClock, idle: () => Promise<void>) =>
  async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= STEP_MS) {
      await idle()
      clock.advance(Math.min(left, STEP_MS))
    }
    await idle()
  }

/** Turns of the event loop without a request after which nothing goes on: an index is made in as many steps. */
const QUIET_TURNS = 40

type Call = { origin: string | URL; path: string }

/** Streams of changes do not end. */
const isAnswered = ({ path }: Call): boolean => !/^\/changes\b/.test(path)

/** Counts the requests of this process that are not answered yet. */
export function countCalls(isCounted: (call: Call) => boolean = isAnswered): {
  /** Resolves when none is left, and nothing goes on. */
  idle: () => Promise<void>
  close: () => void
} {
  const open = new Set<unknown>()
  const begin = (message: unknown): void => {
    const { request } = message as { request: Call }
    if (isCounted(request)) open.add(request)
  }
  const end = (message: unknown): void => void open.delete((message as { request: unknown }).request)
  const channels = [
    ['undici:request:create', begin],
    ['undici:request:trailers', end],
    ['undici:request:error', end],
  ] as const
  for (const [channel, listener] of channels) subscribe(channel, listener)
  return {
    idle: async () => {
      for (let quiet = 0; quiet < QUIET_TURNS; quiet++) {
        await setImmediate()
        if (open.size > 0) quiet = 0
      }
    },
    close: () => {
      for (const [channel, listener] of channels) unsubscribe(channel, listener)
    },
  }
}
