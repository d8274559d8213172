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
  useEffect(() => {
    setState(NOTHING_READ)
    const current = new Walk({
      read: (paging, signal) =>
        ask({ address: `listings?${question === '' ? '' : `${question}&`}${paging}`, key, signal }),
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
