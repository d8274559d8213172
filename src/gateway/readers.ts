import { createHash } from 'node:crypto'
import type { Caller } from '../domain/api-key.ts'
import { NO_FILTER, type StandingFilter } from '../domain/query.ts'
import { type Reader, SEES_ALL } from '../domain/reader.ts'
import type { Visibility } from '../domain/source/upstream.ts'
import { EntrepotError } from '../errors.ts'
import { canonicalJson } from '../filter-spec/etag.ts'

/** The view of each caller. */
export type Readers = {
  /** @throws EntrepotError `forbidden` for a key whose view is not in the file */
  of: (caller: Caller) => Reader
  /** Of callers without a key; `null`: they see nothing. */
  anonymous: Reader | null
  /** Whether what is seen depends on the key, so that a wrong one is refused. */
  keysRevealMore: boolean
  /** What a key can name. */
  views: readonly string[]
}

type ViewRule = {
  name: string
  /** `null`: all public ones. */
  sources: readonly string[] | null
  filter: StandingFilter
  limits: Reader['limits']
}

type RankedName = { name: string; visibility: Visibility; priority: number }

type ReadersOptions = {
  sources: readonly RankedName[]
  /** Versions of the filter spec, the tokens and the vocabulary. */
  tables?: readonly string[]
  /** Differs where the operator's rules of that source do. */
  rulesOf?: (source: string) => string
  views?: readonly ViewRule[] | undefined
  /** Names of views, or `all`, `public`, `none`. */
  access?: { anonymous: string; keys: string } | undefined
}

const DEFAULT_ACCESS = { anonymous: 'public', keys: 'all' }

export function createReaders({
  sources,
  tables = [],
  rulesOf = () => '',
  views = [],
  access = DEFAULT_ACCESS,
}: ReadersOptions): Readers {
  const publicNames = sources.filter(({ visibility }) => visibility === 'public').map(({ name }) => name)
  const rules: ViewRule[] = [
    { name: 'all', sources: sources.map(({ name }) => name), filter: NO_FILTER, limits: SEES_ALL.limits },
    { name: 'public', sources: publicNames, filter: NO_FILTER, limits: SEES_ALL.limits },
    ...views,
  ]
  const byName = new Map(
    rules.map(({ name, sources: names, filter, limits }): [string, Reader] => {
      const seen = new Set(names ?? publicNames)
      const ranks = sources
        .filter((source) => seen.has(source.name))
        .map((one) => [one.name, one.priority, rulesOf(one.name)])
      const digest = createHash('sha256')
        .update(canonicalJson([ranks, filter.key, tables]))
        .digest('base64url')
      const isAll = ranks.length === sources.length
      return [name, { view: name, sources: isAll ? null : seen, filter, digest, limits }]
    }),
  )
  const anonymous = byName.get(access.anonymous) ?? null
  const viewOf = (name: string): Reader => {
    const reader = byName.get(name)
    if (reader !== undefined) return reader
    throw new EntrepotError(
      'forbidden',
      `The view '${name}' does not exist here: ask the operator for another key`,
    )
  }
  return {
    of: (caller) => {
      if (caller.kind === 'operator') return viewOf('all')
      return caller.kind === 'key' ? viewOf(caller.key.view ?? access.keys) : viewOf(access.anonymous)
    },
    anonymous,
    views: [...byName.keys()],
    keysRevealMore:
      publicNames.length < sources.length ||
      views.length > 0 ||
      access.anonymous !== DEFAULT_ACCESS.anonymous ||
      access.keys !== DEFAULT_ACCESS.keys,
  }
}
