import type { ListingQuery } from '../domain/query.ts'
import type { NamedSource, Range, Reading } from '../domain/reading.ts'
import { SourceError } from '../domain/source-error.ts'
import type { Attributes, Trace } from '../domain/trace.ts'

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
