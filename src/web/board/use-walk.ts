import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { ask } from '../common/ask.ts'
import { NOTHING_READ, Walk, type WalkState } from './walk.ts'

export type Listings = WalkState & {
  /** Reads until that many are held, or there is no more. */
  until: (enough: number) => Promise<void>
  retry: () => Promise<void>
}

/**
 * The answer to a question as far as it has been read: its first page at once, more on demand. Another question, key or
 * `round` begins anew.
 * @param question a query string
 */
export const useWalk = (question: string, key: string | null, round: number): Listings => {
  const [state, setState] = useState(NOTHING_READ)
  const walk = useRef<Walk | null>(null)
  const lastRound = useRef(round)
  useEffect(() => {
    setState(NOTHING_READ)
    // Whoever refreshes means the gateway; the pages behind the first have cursors of their own.
    let isAnew = round !== lastRound.current
    lastRound.current = round
    const current = new Walk({
      read: (paging, signal) => {
        const address = `listings?${question === '' ? '' : `${question}&`}${paging}`
        const answer = ask({ address, key, signal, isAnew })
        isAnew = false
        return answer
      },
      onChange: setState,
    })
    walk.current = current
    current.more()
    return () => current.stop()
  }, [question, key, round])
  return useMemo(
    () => ({
      ...state,
      until: async (enough) => walk.current?.until(enough),
      retry: async () => walk.current?.more(),
    }),
    [state],
  )
}
