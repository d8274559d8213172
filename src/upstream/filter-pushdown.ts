import { raceAbort } from '../domain/clock.ts'
import type { Source } from '../domain/source/reading.ts'
import { SourceError } from '../domain/source/source-error.ts'
import { isSameSchema } from '../filter-spec/schema-id.ts'
import type { KnownSpec, UpstreamSpec } from '../filter-spec/upstream-spec.ts'
import type { UpstreamSource } from './live-source.ts'
import { namesOf, pushDown, rejectionOf } from './push-down.ts'

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
      const plan = pushDown(query, spec, { refused, sendsDerived })
      try {
        const reading = await source(plan, range, signal)
        if (reading.reason !== 'http_500' || plan.pushed.length === 0) return reading
        const unfiltered = pushDown(query, spec, { refused: namesOf(query), sendsDerived })
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
