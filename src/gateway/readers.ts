import { createHash } from 'node:crypto'
import type { Caller } from '../domain/api-key.ts'
import { type Reader, SEES_ALL } from '../domain/reader.ts'
import type { Visibility } from '../domain/source/reading.ts'
import { canonicalJson } from '../filter-spec/etag.ts'

/** The view of each caller, and whether a key changes what is seen. */
export type Readers = {
  of: (caller: Caller) => Reader
  /** Of callers without a key. */
  anonymous: Reader
  keysRevealMore: boolean
}

type RankedName = { name: string; visibility: Visibility; priority: number }

/** @param tables versions of the filter spec, the tokens and the vocabulary */
export function createReaders(sources: readonly RankedName[], tables: readonly string[]): Readers {
  const viewOf = (view: string, seen: readonly RankedName[]): Reader => {
    const isAll = seen.length === sources.length
    const ranks = seen.map(({ name, priority }) => [name, priority])
    return {
      ...SEES_ALL,
      view,
      sources: isAll ? null : new Set(seen.map(({ name }) => name)),
      digest: createHash('sha256')
        .update(canonicalJson([ranks, tables]))
        .digest('base64url'),
    }
  }
  const all = viewOf('all', sources)
  const anonymous = viewOf(
    'public',
    sources.filter(({ visibility }) => visibility === 'public'),
  )
  return {
    of: ({ kind }) => (kind === 'anonymous' ? anonymous : all),
    anonymous,
    keysRevealMore: anonymous.sources !== null,
  }
}
