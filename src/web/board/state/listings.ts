import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { ProblemError } from '../../../client/problem-error.ts'
import { isArriving } from '../../../wire/describe-missing.ts'
import { requestAnswer } from '../../common/gateway.ts'
import { listingAddress } from '../commands.ts'
import type { OpenListing } from '../view.ts'
import { isError, useAnswers } from './answer.ts'
import { type ListingRow, readOneListing } from './listing-row.ts'
import { INITIAL_STATE, type LoaderState, PAGE_ROWS, PageLoader } from './page-loader.ts'

export type Listings = LoaderState & {
  /** Whether the rows still answer the previous query, until there is an answer, or because this one failed. */
  isPrevious: boolean
  /** Of the first page, in `GET /changes`; `null` where the service has none. */
  changesPosition: string | null
  /** Resolves to whether there are so many, or all. */
  loadUntil: (count: number) => Promise<boolean>
  retry: () => void
}

type LoadOptions = { key: string | null; refreshes: number }
export type ListingsOptions = LoadOptions & { page: number }

/** The rows up to the end of `page`, more on demand. Another query, key or `refreshes` starts over; `null` requests nothing. */
export function useListings(query: string | null, { key, refreshes, page }: ListingsOptions): Listings {
  const [state, setState] = useState<Shown>(BLANK)
  const loader = useRef<PageLoader | null>(null)
  const start = useRef(0)
  start.current = (page - 1) * PAGE_ROWS
  useEffect(() => {
    if (query === null) return setState(BLANK)
    // Another key must not see what the previous one showed.
    setState((old) => (old.key === key ? { ...old, isPrevious: true, error: null } : { ...BLANK, key }))
    let changesPosition: string | null | undefined
    const positioned = () => ({ isPrevious: false, changesPosition: changesPosition ?? null })
    const current = new PageLoader({
      fetchPage: async (paging, signal) => {
        const path = `listings?${query === '' ? '' : `${query}&`}${paging}`
        const answer = await requestAnswer(path, key, { signal })
        if (changesPosition === undefined) changesPosition = answer.changesPosition ?? null
        return answer.body
      },
      onChange: (next) => {
        const hasPage = next.phase !== 'loading' || next.rows.length > start.current
        // The rows of a later page stay until there are others for it.
        if (next.total !== null)
          setState((old) => (old.isPrevious && !hasPage ? old : { ...next, ...positioned(), key }))
        else if (next.error !== null)
          setState((old) => ({ ...old, phase: 'failed', error: next.error, isPrevious: true }))
      },
    })
    loader.current = current
    void current.loadUntil(page * PAGE_ROWS)
    return () => current.stop()
  }, [query, key, refreshes])
  useEffect(() => {
    void loader.current?.loadUntil(page * PAGE_ROWS)
  }, [page])
  useRetryAfter(state.error, () => loader.current?.retry())
  return useMemo(
    () => ({
      ...state,
      loadUntil: async (count) => (await loader.current?.loadUntil(count)) ?? false,
      retry: () => void loader.current?.retry(),
    }),
    [state],
  )
}

type Shown = LoaderState & Pick<Listings, 'isPrevious' | 'changesPosition'> & { key: string | null }

const BLANK: Shown = { ...INITIAL_STATE, isPrevious: false, changesPosition: null, key: null }

const MAX_RETRY_SECONDS = 300

/** A refusal for too many requests ends by itself, and so does the first pull of a source. */
export const isSentAgain = ({ status, sources }: ProblemError): boolean =>
  status === 429 || sources.some(({ state }) => isArriving(state))

function useRetryAfter(error: ProblemError | null, retry: () => unknown): void {
  useEffect(() => {
    if (error === null || !isSentAgain(error)) return
    const seconds = Math.min(MAX_RETRY_SECONDS, Math.max(1, error.retryAfter ?? 10))
    const timer = setTimeout(retry, seconds * 1000)
    return () => clearTimeout(timer)
  }, [error])
}

/** Each of the listings: loaded, else fetched, since views can be shared. An error is the failure; `null` is pending. */
export function useOpenRows(
  listings: readonly OpenListing[],
  rows: readonly ListingRow[],
  options: LoadOptions,
): (ListingRow | ProblemError | null)[] {
  const { key } = options
  const latest = useRef<{ key: string | null; rows: readonly ListingRow[] }>({ key, rows: [] })
  const before = latest.current.key === key ? latest.current.rows : []
  const loaded = listings.map((one) => rows.find((row) => matches(row, one)))
  const missing = listings.filter((_, n) => loaded[n] === undefined)
  const { byAddress } = useAnswers(missing.map(listingAddress), readOneListing, options)
  const openRows = listings.map(
    (one, n) =>
      loaded[n] ??
      byAddress.get(listingAddress(one)) ??
      // The rows are loaded again: what is open stays until there is an answer.
      before.find((row) => matches(row, one)) ??
      null,
  )
  latest.current = { key, rows: openRows.flatMap((one) => (one === null || isError(one) ? [] : [one])) }
  return openRows
}

const matches = (row: ListingRow, { id, registry }: OpenListing): boolean =>
  row.id === id && (registry === null || row.registry === registry)
