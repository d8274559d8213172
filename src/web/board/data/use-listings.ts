import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { ask } from '../../common/request.ts'
import { NOTHING_READ, Walk, type WalkState } from './page-loader.ts'

export type Listings = WalkState & {
  /** Whether this still answers the previous question. */
  isOld: boolean
  until: (enough: number) => Promise<number>
  retry: () => Promise<void>
}

/** First page at once, more on demand. Another question, key or `round` starts over. */
export function useWalk(question: string, key: string | null, round: number): Listings {
  const [state, setState] = useState<WalkState & { isOld: boolean }>(BLANK)
  const walk = useRef<Walk | null>(null)
  const last = useRef({ round, key })
  useEffect(() => {
    // Another key must not see what the previous one showed.
    setState((old) => (last.current.key === key ? { ...old, isOld: true } : BLANK))
    // A refresh bypasses the browser's cache; pages after the first have cursors of their own.
    let isAnew = round !== last.current.round
    last.current = { round, key }
    const current = new Walk({
      read: (paging, signal) => {
        const address = `listings?${question === '' ? '' : `${question}&`}${paging}`
        const answer = ask({ address, key, signal, isAnew })
        isAnew = false
        return answer
      },
      onChange: (next) => {
        if (next.total !== null || next.fault !== null) setState({ ...next, isOld: false })
      },
    })
    walk.current = current
    current.more()
    return () => current.stop()
  }, [question, key, round])
  return useMemo(
    () => ({
      ...state,
      until: async (enough) => (await walk.current?.until(enough)) ?? 0,
      retry: async () => walk.current?.more(),
    }),
    [state],
  )
}

const BLANK = { ...NOTHING_READ, isOld: false }
