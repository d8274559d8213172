import type { Reader } from '../domain/api-key.ts'
import type { ListingQuery } from '../domain/query.ts'
import type { NamedSource, Range, Reading, ReadingInfo, Visibility } from '../domain/reading.ts'
import { SourceError } from '../domain/source-error.ts'
import type { Attributes, Trace } from '../domain/trace.ts'
import { EntrepotError } from '../errors.ts'

export type Outcome = { source: NamedSource; elapsedMs: number; result: ReadingInfo | SourceError }

export type MergeOptions = {
  /** Default: all visible sources. */
  named?: readonly string[] | null
  /** Default: the gateway's. */
  budgetMs?: number | undefined
  requireAll?: boolean
  /** Only the local Registry is read. */
  isLoop?: boolean
}

/** This order decides ties of position. */
export function rankSources<S extends Pick<NamedSource, 'name' | 'priority'>>(sources: readonly S[]): S[] {
  return sources.toSorted(
    (a, b) => a.priority - b.priority || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
  )
}

export function skipAsLoop(source: NamedSource): NamedSource {
  if (source.mode === 'local') return source
  return {
    ...source,
    read: async () => {
      throw new SourceError('loop', 'the question has been through this gateway before')
    },
  }
}

/** Private sources are hidden from readers without a valid key. */
export const maySee = (reader: Reader, { visibility }: { visibility: Visibility }): boolean =>
  visibility === 'public' || reader.kind === 'key'

/** @throws EntrepotError `bad_request`, in the same words for unknown and hidden names */
export function visibleSources<S extends Pick<NamedSource, 'name' | 'visibility'>>(
  sources: readonly S[],
  reader: Reader,
  named: readonly string[] | null = null,
): S[] {
  const visible = sources.filter((source) => maySee(reader, source))
  if (named === null) return visible
  const unknown = named.filter((name) => !visible.some((source) => source.name === name))
  if (unknown.length > 0)
    throw new EntrepotError(
      'bad_request',
      `There is no source ${unknown.map((name) => JSON.stringify(name)).join(', ')}: see GET /sources`,
    )
  return visible.filter(({ name }) => named.includes(name))
}

export function traceSource(source: NamedSource): NamedSource {
  return {
    ...source,
    // A snapshot that is too large becomes live.
    get mode() {
      return source.mode
    },
    read: (query, range, signal) =>
      query.trace?.begin === undefined
        ? source.read(query, range, signal)
        : readTraced(source, query, range, query.trace, signal),
  }
}

async function readTraced(
  { name, mode, read }: NamedSource,
  query: ListingQuery,
  range: Range,
  { begin }: Trace,
  signal: AbortSignal,
): Promise<Reading> {
  const span = begin!(`source ${name}`, 'internal', {
    'entrepot.source.name': name,
    'entrepot.source.mode': mode,
  })
  try {
    const reading = await read({ ...query, trace: span }, range, signal)
    span.set(attributesOf(reading))
    span.end()
    return reading
  } catch (error) {
    span.end(error instanceof SourceError ? error.reason : 'fault')
    throw error
  }
}

function attributesOf({ stale, reason, total, listings, asOf, cache }: Reading): Attributes {
  return {
    'entrepot.source.state': stale ? 'stale' : 'loaded',
    'entrepot.source.matched': total,
    'entrepot.source.items': listings.length,
    'entrepot.source.age_seconds': Math.max(0, Math.floor((Date.now() - asOf) / 1000)),
    ...(cache === undefined ? {} : { 'entrepot.source.cache': cache.outcome }),
    ...(reason === undefined ? {} : { 'entrepot.source.reason': reason }),
  }
}
