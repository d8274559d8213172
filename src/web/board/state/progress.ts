import { useEffect, useState } from 'preact/hooks'
import type { SourceStatusJson } from '../../../wire/source.ts'
import { parseAnswer, request } from '../../common/gateway.ts'
import { parameterOf, type Query, queryString } from '../view.ts'

/** The sources of a query that is not answered yet, by whether they have answered since it was sent. */
export type Progress = { answered: readonly SourceStatusJson[]; silent: readonly string[] }

type ProgressOptions = { isWaiting: boolean; key: string | null; refreshes: number }

const ASK_MS = 1000

/** `null` in the first second, and while nothing is waited for. */
export function useProgress(query: Query, { isWaiting, key, refreshes }: ProgressOptions): Progress | null {
  const search = queryString(query)
  const [known, setKnown] = useState<(Progress & { search: string }) | null>(null)
  useEffect(() => {
    if (!isWaiting) return
    const stopped = new AbortController()
    const { signal } = stopped
    const ask = async (): Promise<void> => {
      const { sources } = parseAnswer(await request('sources', key, { signal }))
      if (!signal.aborted) setKnown({ ...progressIn(sources, query), search })
    }
    // What cannot be asked is waited for without its name.
    const timer = setInterval(() => void ask().catch(() => {}), ASK_MS)
    return () => {
      clearInterval(timer)
      stopped.abort()
      setKnown(null)
    }
  }, [isWaiting, search, key, refreshes])
  return isWaiting && known?.search === search ? known : null
}

function progressIn(sources: readonly SourceStatusJson[], query: Query): Progress {
  const chosen = parameterOf(query, 'sources')?.split(',')
  const asked = sources.filter(({ registry }) => chosen?.includes(registry) ?? true)
  const isSilent = ({ state }: SourceStatusJson): boolean => state === 'not_yet_loaded'
  return {
    answered: asked.filter((source) => !isSilent(source)),
    silent: asked.filter(isSilent).map(({ registry }) => registry),
  }
}
