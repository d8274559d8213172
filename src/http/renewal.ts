import type { ServerResponse } from 'node:http'

/** Longest wait for an answer that somebody else is given: her connection may be slow. */
const MAX_RENEWAL_MS = 1000

/** An answer that is being made anew for one, and that others wait for. */
export type Renewal = {
  /** Resolves when it is there, or will not be. */
  ended: Promise<void>
  end: () => void
}

/** @param response that of her for whom it is made: when it is over there is nothing to wait for */
export const renewalBy = (response: ServerResponse, onEnd: () => void): Renewal => {
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const end = (): void => {
    clearTimeout(timer)
    response.off('close', end)
    onEnd()
    resolve()
  }
  const timer = setTimeout(end, MAX_RENEWAL_MS).unref()
  response.once('close', end)
  return { ended, end }
}
