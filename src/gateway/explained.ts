import type { Exclusion, Source } from '../domain/page.ts'
import type { ListingQuery } from '../domain/query.ts'
import type { Criterion } from '../filter-spec/criteria.ts'

/**
 * Lets a source that answers from memory explain its answer: what each criterion alone keeps out of its listings, by
 * asking it for their numbers.
 */
export const explained =
  (source: Source): Source =>
  async (query, signal) => {
    const page = await source(query, signal)
    if (!query.explain) return page
    const count = async (criteria: readonly Criterion[]): Promise<number> => {
      const asked: ListingQuery = { ...query, criteria, offset: 0, limit: 1, explain: false }
      return (await source(asked, signal)).total
    }
    const all = await count([])
    const excluded: Exclusion[] = []
    for (const criterion of query.criteria) {
      const failing = all - (await count([criterion]))
      const missing = criterion.onMissing === 'pass' ? 0 : all - (await count([presence(criterion)]))
      excluded.push({ filter: criterion.filter.name, byValue: failing - missing, missing })
    }
    return { ...page, explanation: { excluded } }
  }

/** Every listing that has the field at all. */
const presence = ({ filter }: Criterion): Criterion => ({
  filter,
  onMissing: 'fail',
  test: { op: 'not_in', values: new Set() },
})
