import type { ServerResponse } from 'node:http'

/** Longest wait for another request's answer: its connection may be slow. */
const MAX_RENEWAL_MS = 1000

export type Renewal = {
  ended: Promise<void>
  end: () => void
}

/** @param response of the request that renews the answer; its close ends the wait */
export function renewalBy(response: ServerResponse, onEnd: () => void): Renewal {
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
