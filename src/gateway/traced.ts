import type { NamedSource, Page } from '../domain/page.ts'
import type { ListingQuery } from '../domain/query.ts'
import { SourceError } from '../domain/source-error.ts'
import type { Attributes, Trace } from '../domain/trace.ts'

/** A source whose answers are recorded, where the question's trace is. */
export const traced = (source: NamedSource): NamedSource => ({
  ...source,
  // A snapshot that has become too large is live from then on.
  get mode() {
    return source.mode
  },
  ask: (query, signal) =>
    query.trace?.begin === undefined ? source.ask(query, signal) : ask(source, query, query.trace, signal),
})

const ask = async (
  { name, mode, ask }: NamedSource,
  query: ListingQuery,
  { begin }: Trace,
  signal: AbortSignal,
): Promise<Page> => {
  const span = begin!(`source ${name}`, 'internal', {
    'entrepot.source.name': name,
    'entrepot.source.mode': mode,
  })
  try {
    const page = await ask({ ...query, trace: span }, signal)
    span.set(attributesOf(page))
    span.end()
    return page
  } catch (error) {
    span.end(error instanceof SourceError ? error.reason : 'fault')
    throw error
  }
}

const attributesOf = ({ stale, reason, total, items, ageSeconds, cache }: Page): Attributes => ({
  'entrepot.source.state': stale ? 'stale' : 'loaded',
  'entrepot.source.matched': total,
  'entrepot.source.items': items.length,
  'entrepot.source.age_seconds': Math.floor(ageSeconds),
  ...(cache === undefined ? {} : { 'entrepot.source.cache': cache.outcome }),
  ...(reason === undefined ? {} : { 'entrepot.source.reason': reason }),
})
