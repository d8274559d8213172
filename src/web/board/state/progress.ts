import { useEffect, useState } from 'preact/hooks'
import type { SourceStatusJson } from '../../../wire/source.ts'
import { parseAnswer, request } from '../../common/gateway.ts'
import { parameterOf, type Query, queryString } from '../view.ts'

/** The sources of a query that is not answered yet, by whether they have answered since it was sent. */
export type Progress = { answered: readonly SourceStatusJson[]; silent: readonly string[] }

type ProgressOptions = { isWaiting: boolean; key: string | null; refreshes: number }

const ASK_MS = 1000

/** By default an answer of this age is served from the gateway's cache. */
const FRESH_SECONDS = 15

/** `null` in the first second, and while nothing is waited for. */
export function useProgress(query: Query, { isWaiting, key, refreshes }: ProgressOptions): Progress | null {
  const search = queryString(query)
  const [known, setKnown] = useState<(Progress & { search: string }) | null>(null)
  useEffect(() => {
    if (!isWaiting) return
    const stopped = new AbortController()
    const { signal } = stopped
    let seconds = 0
    const ask = async (): Promise<void> => {
      seconds++
      const { sources } = parseAnswer(await request('sources', key, { signal }))
      if (!signal.aborted) setKnown({ ...progressIn(sources, query, seconds), search })
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

function progressIn(sources: readonly SourceStatusJson[], query: Query, seconds: number): Progress {
  const chosen = parameterOf(query, 'sources')?.split(',')
  const asked = sources.filter(({ registry }) => chosen?.includes(registry) ?? true)
  const isSilent = ({ mode, state, age_seconds: age, last_error }: SourceStatusJson): boolean =>
    mode === 'live' &&
    (age === null || age > FRESH_SECONDS + seconds) &&
    (state !== 'unavailable' || last_error?.reason === 'timeout')
  return {
    answered: asked.filter((source) => !isSilent(source)),
    silent: asked.filter(isSilent).map(({ registry }) => registry),
  }
}
