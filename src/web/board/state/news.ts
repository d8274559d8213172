import { useLayoutEffect, useState } from 'preact/hooks'
import { followChanges } from '../../../client/follow-changes.ts'
import { parseJson } from '../../../json/value.ts'
import { isArriving } from '../../../wire/describe-missing.ts'
import { request } from '../../common/gateway.ts'
import { decodeUtf8 } from './listing-row.ts'

/** Ids of listings that have changed since the rows were loaded. */
export type News = {
  /** New or changed. */
  listed: ReadonlySet<string>
  gone: ReadonlySet<string>
  /** Whether more may have changed than the ids show. */
  isLost: boolean
  /** Sources whose first pull has ended, or failed. */
  settled: ReadonlySet<string>
}

const NO_NEWS: News = { listed: new Set(), gone: new Set(), isLost: false, settled: new Set() }

const DEADLINE_MS = 15_000

/** A page that is only glanced at requests nothing. */
const BEGIN_MS = 2000

/** `since`: the position of the answer; `null` for no news. */
type NewsOptions = { key: string | null; since: string | null }

/**
 * What has changed in the answer to a query since it was asked; it begins again with another query, key or position. Nothing is
 * requested while the page is hidden.
 */
export function useNews(search: string, { key, since }: NewsOptions): News {
  const [news, setNews] = useState(NO_NEWS)
  // Before a frame has the new rows: these news are of the rows before them.
  useLayoutEffect(() => {
    setNews(NO_NEWS)
    if (since === null) return
    let position = since
    let stopped = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const follow = async (): Promise<void> => {
      const { signal } = stopped
      const ask = async (path: string, waitSeconds = 0) => {
        const deadlineMs = DEADLINE_MS + waitSeconds * 1000
        return parseJson(decodeUtf8(await request(path, key, { signal, waitSeconds, deadlineMs })))
      }
      for await (const change of followChanges(ask, search, { since: position, signal })) {
        position = change.position
        if (change.type === 'reset') return setNews((before) => ({ ...before, isLost: true }))
        if (change.type !== 'source') setNews((before) => withChange(before, change))
        else if (!isArriving(change.source.state))
          setNews((before) => withSettled(before, change.source.registry))
      }
    }
    // A service that refuses has no news.
    const begin = (): void => void follow().catch(() => {})
    const onVisibility = (): void => {
      clearTimeout(timer)
      stopped.abort()
      stopped = new AbortController()
      if (!document.hidden) timer = setTimeout(begin, BEGIN_MS)
    }
    document.addEventListener('visibilitychange', onVisibility)
    onVisibility()
    return () => {
      document.removeEventListener('visibilitychange', onVisibility)
      clearTimeout(timer)
      stopped.abort()
    }
  }, [search, key, since])
  return news
}

function withChange(
  { listed, gone, ...rest }: News,
  { type, listing_id: id }: { type: 'listing' | 'removed'; listing_id: string },
): News {
  const without = (ids: ReadonlySet<string>): ReadonlySet<string> =>
    new Set([...ids].filter((one) => one !== id))
  return type === 'listing'
    ? { listed: new Set([...listed, id]), gone: without(gone), ...rest }
    : { listed: without(listed), gone: new Set([...gone, id]), ...rest }
}

const withSettled = (news: News, registry: string): News => ({
  ...news,
  settled: new Set([...news.settled, registry]),
})
