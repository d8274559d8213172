import { useEffect, useState } from 'preact/hooks'
import { ask } from '../../common/request.ts'
import { RequestFault } from '../../common/request-fault.ts'
import { sourceOf } from '../commands.ts'
import type { OpenListing } from '../view.ts'
import { type Row, readOneListing } from './listing-row.ts'

/** Loaded, else fetched: views can be shared. A text is the failure; `null`: pending, or none open. */
export function useOpenRow(
  open: OpenListing | null,
  rows: readonly Row[],
  key: string | null,
): Row | string | null {
  const [fetched, setFetched] = useState<{ id: string; found: Row | string } | null>(null)
  const held = open === null ? undefined : rows.find((row) => isNamed(row, open))
  const isMissing = open !== null && held === undefined
  const { id = '', registry = null } = open ?? {}
  useEffect(() => {
    if (!isMissing) return
    const stopped = new AbortController()
    const source = registry === null ? '' : `?registry=${encodeURIComponent(sourceOf(registry))}`
    ask({ address: `listings/${encodeURIComponent(id)}${source}`, key, signal: stopped.signal })
      .then((bytes): Row | string => readOneListing(bytes))
      .catch((cause) => (cause instanceof RequestFault ? cause.message : 'It is no listing.'))
      .then((found) => stopped.signal.aborted || setFetched({ id, found }))
    return () => stopped.abort()
  }, [isMissing, id, registry, key])
  if (open === null) return null
  return held ?? (fetched?.id === open.id ? fetched.found : null)
}

const isNamed = (row: Row, { id, registry }: OpenListing): boolean =>
  row.id === id && (registry === null || row.registry === registry)
