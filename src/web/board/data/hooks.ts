import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { type JsonValue, parseJson } from '../../../json/value.ts'
import { request } from '../../common/request.ts'
import { RequestError } from '../../common/request-error.ts'
import { sourceOf } from '../commands.ts'
import type { OpenListing } from '../view.ts'
import { type ListingRow, readOneListing } from './listing-row.ts'
import { INITIAL_STATE, type LoaderState, PageLoader } from './page-loader.ts'

export type Listings = LoaderState & {
  /** Whether this still answers the previous query. */
  isPrevious: boolean
  loadUntil: (count: number) => Promise<number>
  retry: () => Promise<void>
}

/** First page at once, more on demand. Another query, key or `refreshes` starts over. */
export function useListings(query: string, key: string | null, refreshes: number): Listings {
  const [state, setState] = useState<LoaderState & { isPrevious: boolean }>(BLANK)
  const loader = useRef<PageLoader | null>(null)
  const last = useRef({ refreshes, key })
  useEffect(() => {
    // Another key must not see what the previous one showed.
    setState((old) => (last.current.key === key ? { ...old, isPrevious: true } : BLANK))
    // A refresh bypasses the browser's cache; pages after the first have cursors of their own.
    let bypassesCache = refreshes !== last.current.refreshes
    last.current = { refreshes, key }
    const current = new PageLoader({
      fetchPage: (paging, signal) => {
        const address = `listings?${query === '' ? '' : `${query}&`}${paging}`
        const answer = request({ address, key, signal, bypassesCache })
        bypassesCache = false
        return answer
      },
      onChange: (next) => {
        if (next.total !== null || next.error !== null) setState({ ...next, isPrevious: false })
      },
    })
    loader.current = current
    current.loadNext()
    return () => current.stop()
  }, [query, key, refreshes])
  return useMemo(
    () => ({
      ...state,
      loadUntil: async (count) => (await loader.current?.loadUntil(count)) ?? 0,
      retry: async () => loader.current?.loadNext(),
    }),
    [state],
  )
}

const BLANK = { ...INITIAL_STATE, isPrevious: false }

/** `null` while loading, after a failure, and without an address. */
export function useAnswer(address: string | null, key: string | null, refreshes: number): JsonValue {
  const [answer, setAnswer] = useState<JsonValue>(null)
  useEffect(() => {
    if (address === null) return
    const stopped = new AbortController()
    request({ address, key, signal: stopped.signal })
      .then((bytes) => parseJson(new TextDecoder().decode(bytes)))
      // The listings fail for the same reason, and show it.
      .catch(() => null)
      .then((value) => stopped.signal.aborted || setAnswer(value))
    return () => stopped.abort()
  }, [address, key, refreshes])
  return answer
}

/** The loaded row, else a fetched one: views can be shared. A text is the failure; `null`: pending, or none open. */
export function useOpenRow(
  open: OpenListing | null,
  rows: readonly ListingRow[],
  key: string | null,
): ListingRow | string | null {
  const [fetched, setFetched] = useState<{ id: string; found: ListingRow | string } | null>(null)
  const loaded = open === null ? undefined : rows.find((row) => matches(row, open))
  const isMissing = open !== null && loaded === undefined
  const { id = '', registry = null } = open ?? {}
  useEffect(() => {
    if (!isMissing) return
    const stopped = new AbortController()
    const source = registry === null ? '' : `?registry=${encodeURIComponent(sourceOf(registry))}`
    request({ address: `listings/${encodeURIComponent(id)}${source}`, key, signal: stopped.signal })
      .then((bytes): ListingRow | string => readOneListing(bytes))
      .catch((cause) => (cause instanceof RequestError ? cause.message : 'The answer is not a listing.'))
      .then((found) => stopped.signal.aborted || setFetched({ id, found }))
    return () => stopped.abort()
  }, [isMissing, id, registry, key])
  if (open === null) return null
  return loaded ?? (fetched?.id === open.id ? fetched.found : null)
}

const matches = (row: ListingRow, { id, registry }: OpenListing): boolean =>
  row.id === id && (registry === null || row.registry === registry)
