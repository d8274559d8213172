import { raceAbort } from '../domain/clock.ts'
import type { ListingQuery } from '../domain/query.ts'
import type { Source } from '../domain/source/reading.ts'
import { SourceError } from '../domain/source/source-error.ts'
import { isSameFilter } from '../filter-spec/filter.ts'
import { readJsonSet, trim } from '../filter-spec/literals.ts'
import { setFormOf } from '../filter-spec/operations/operations.ts'
import { filterNameOf } from '../filter-spec/parameters.ts'
import { isSameSchema } from '../filter-spec/schema-id.ts'
import type { KnownSpec, UpstreamSpec } from '../filter-spec/upstream-spec.ts'
import type { UpstreamSource } from './live-source.ts'
import type { UpstreamQuery } from './upstream-query.ts'

type PushdownOptions = {
  name: string
  spec: KnownSpec
  /** Other declared schema ids are refused; `null` accepts all. */
  schema: string | null
  /** Whether derived filters are sent, too: an entrepot judges them by its own tables. Default: false. */
  sendsDerived?: boolean
}

/** The first one, and one each after a 412, a refused filter and a second refusal. */
const MAX_ATTEMPTS = 4

/**
 * Sends filters that the upstream declares identically, with its spec's etag as `If-Match`; the others are
 * evaluated here. A 412 fetches the spec again. A filter refused with 400 counts as undeclared. All filters
 * count as undeclared after a second refusal, and after a 500, which one odd listing can cause in a deployed
 * Registry. A stale Reading in place of that 500 is only returned if the next read fails.
 */
export function pushDownFilters(
  { name, spec: specCache, schema, sendsDerived = false }: PushdownOptions,
  source: UpstreamSource,
): Source {
  return async (query, range, signal) => {
    // Filters without a value have no effect, and the upstream may not know them.
    if (schema === null && query.criteria.length === 0) return source({ ...query, pushed: [] }, range, signal)
    await raceAbort(specCache.loaded, signal)
    let spec = specCache.current
    let refused: ReadonlySet<string> = new Set()
    for (let attempt = 1; ; attempt++) {
      requireSchema(name, spec, schema)
      const plan = planFor(query, spec, { refused, sendsDerived })
      try {
        const reading = await source(plan, range, signal)
        if (reading.reason !== 'http_500' || plan.pushed.length === 0) return reading
        const unfiltered = planFor(query, spec, { refused: namesOf(query), sendsDerived })
        return await source(unfiltered, range, signal).catch((error: unknown) => {
          if (error instanceof SourceError) return reading
          throw error
        })
      } catch (error) {
        const rejection = rejectionOf(plan, error)
        if (rejection === null || attempt === MAX_ATTEMPTS) throw error
        if (rejection === 'other spec') spec = await raceAbort(specCache.recheck(spec), signal)
        else {
          void specCache.recheck(spec)
          refused = rejection === 'all' || refused.size > 0 ? namesOf(query) : rejection
        }
      }
    }
  }
}

/** @throws SourceError `schema_mismatch`; an upstream may declare no schema */
export function requireSchema(name: string, spec: UpstreamSpec | null, schema: string | null): void {
  const declared = spec?.schemaId ?? null
  if (schema === null || declared === null || isSameSchema(declared, schema)) return
  throw new SourceError('schema_mismatch', `${name}: serves schema '${declared}', not '${schema}'`)
}

function planFor(
  query: ListingQuery,
  spec: UpstreamSpec | null,
  { refused, sendsDerived }: { refused: ReadonlySet<string>; sendsDerived: boolean },
): UpstreamQuery {
  const sent = new Set<string>()
  for (const { filter } of query.criteria) {
    const declared = spec?.filters.get(filter.name)
    const isDeclared =
      filter.parseDerived === undefined
        ? declared !== undefined && isSameFilter(declared, filter)
        : sendsDerived && declared === undefined
    if (isDeclared && !refused.has(filter.name)) sent.add(filter.name)
  }
  for (const [parameter, value] of query.filters) if (isJsonSet(value)) sent.delete(filterNameOf(parameter))
  const isSent = ([parameter, value]: readonly [string, string]): boolean =>
    value !== '' && sent.has(filterNameOf(parameter))
  const pushed = query.filters.filter(isSent)
  const ifMatch = pushed.length > 0 ? spec?.etag : null
  return { ...query, pushed, ...(ifMatch ? { ifMatch } : {}) }
}

/** A deployed Registry would read pieces of its values. */
function isJsonSet(value: string): boolean {
  const form = setFormOf(value)
  return form !== null && readJsonSet(trim(value.slice(form.length + 1))) !== null
}

function namesOf({ criteria }: ListingQuery): ReadonlySet<string> {
  return new Set(criteria.map(({ filter }) => filter.name))
}

/** `null` where the error has another cause. */
function rejectionOf(plan: UpstreamQuery, error: unknown): ReadonlySet<string> | 'all' | 'other spec' | null {
  if (!(error instanceof SourceError) || plan.pushed.length === 0) return null
  if (error.reason === 'http_412') return plan.ifMatch === undefined ? null : 'other spec'
  if (error.reason === 'http_500') return 'all'
  if (error.reason !== 'unsupported_filter') return null
  const sent = new Set(plan.pushed.map(([parameter]) => filterNameOf(parameter)))
  const refused = sent.intersection(new Set(error.filters))
  return refused.size === 0 ? null : refused
}
