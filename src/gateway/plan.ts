import { untilAborted } from '../domain/deadline.ts'
import type { Source } from '../domain/page.ts'
import type { ListingQuery } from '../domain/query.ts'
import { SourceError } from '../domain/source-error.ts'
import { filterNameOf } from '../filter-spec/reserved.ts'
import { isSameFilter } from '../filter-spec/same-filter.ts'
import type { UpstreamSpec } from '../filter-spec/upstream-spec.ts'

/** What is known of a source's vocabulary; `null` where nothing is. */
export type KnownSpec = {
  /** Waits where it has not been asked for yet. */
  known: () => Promise<UpstreamSpec | null>
  /** Asks for it anew, `doubted` having been refuted by an answer. */
  recheck: (doubted: UpstreamSpec | null) => Promise<UpstreamSpec | null>
}

export type PlanOptions = {
  name: string
  spec: KnownSpec
  /** Sources that declare another schema id are not asked; `null` asks all of them. */
  schema: string | null
}

/** A 412, or a 400, and then one more 400. */
const MAX_ATTEMPTS = 3

/**
 * Asks a source only what it can be asked (`contract.md` 3.1, Filters). The filters that it declares as ours are sent,
 * with the etag of its spec as `If-Match`; the others stay among the criteria, for the source below to evaluate over
 * all that it holds. Where its spec is not known, all are sent.
 *
 * A 412 has its spec fetched again, and so has a 400 about a filter, after which that filter counts as lacking; after
 * a second 400 all do. Readers get `unsupported_filter` with the filters that it lacks, where it has more listings
 * than may be read for them, and `schema_mismatch`.
 */
export const planned =
  ({ name, spec: knownSpec, schema }: PlanOptions) =>
  (source: Source): Source =>
  async (query, signal) => {
    const isSpecNeeded = schema !== null || query.criteria.length > 0
    let spec = isSpecNeeded ? await untilAborted(knownSpec.known(), signal) : null
    let refused: ReadonlySet<string> = new Set()
    for (let attempt = 1; ; attempt++) {
      requireSchema(name, spec, schema)
      const plan = planFor(query, spec, refused)
      try {
        return await source(plan, signal)
      } catch (error) {
        const objection = objectionTo(plan, error)
        if (objection === null || attempt === MAX_ATTEMPTS) throw error
        if (objection === 'another spec' && attempt > 1) throw error
        spec = await untilAborted(knownSpec.recheck(spec), signal)
        if (objection !== 'another spec') refused = refused.size === 0 ? objection : namesOf(query)
      }
    }
  }

/**
 * What is not declared may be of any schema (`protocol.md` 3.2).
 * @throws SourceError `schema_mismatch`
 */
export const requireSchema = (name: string, spec: UpstreamSpec | null, schema: string | null): void => {
  const declared = spec?.schemaId ?? null
  if (schema === null || declared === null || declared === schema) return
  throw new SourceError('schema_mismatch', `${name}: serves schema '${declared}', not '${schema}'`)
}

const planFor = (
  query: ListingQuery,
  spec: UpstreamSpec | null,
  refused: ReadonlySet<string>,
): ListingQuery => {
  const sent = new Set(
    query.criteria
      .map(({ filter }) => filter)
      .filter((filter) => {
        if (refused.has(filter.name)) return false
        const declared = spec?.filters.get(filter.name)
        return spec === null || (declared !== undefined && isSameFilter(declared, filter))
      })
      .map((filter) => filter.name),
  )
  const filters = query.filters.filter(
    ([parameter, value]) => value !== '' && sent.has(filterNameOf(parameter)),
  )
  const ifMatch = filters.length > 0 ? spec?.etag : null
  return { ...query, filters, ...(ifMatch ? { ifMatch } : {}) }
}

const namesOf = ({ criteria }: ListingQuery): ReadonlySet<string> =>
  new Set(criteria.map(({ filter }) => filter.name))

/** What a source has against a plan: that its spec is another, or the filters that it was sent and will not take. */
const objectionTo = (plan: ListingQuery, error: unknown): ReadonlySet<string> | 'another spec' | null => {
  if (!(error instanceof SourceError)) return null
  if (error.reason === 'http_412') return plan.ifMatch === undefined ? null : 'another spec'
  if (error.reason !== 'unsupported_filter') return null
  const sent = new Set(plan.filters.map(([parameter]) => filterNameOf(parameter)))
  const refused = sent.intersection(new Set(error.filters))
  return refused.size === 0 ? null : refused
}
