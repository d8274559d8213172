import { useEffect, useMemo, useState } from 'preact/hooks'
import type { AdminApi } from './admin-api.ts'

export type PanelProps = { api: AdminApi; onError: (error: unknown) => string }

/** Aborted when the component is removed. */
export function useLifetime(): AbortSignal {
  const controller = useMemo(() => new AbortController(), [])
  useEffect(() => () => controller.abort(), [controller])
  return controller.signal
}

const NEWS_MS = 15_000

/** What an action has done, for a while. */
export function useNews(): [news: string, setNews: (news: string) => void] {
  const [news, setNews] = useState('')
  useEffect(() => {
    const timer = setTimeout(() => setNews(''), NEWS_MS)
    return () => clearTimeout(timer)
  }, [news])
  return [news, setNews]
}
