import type { Source } from '../domain/page.ts'
import { SourceError } from '../domain/source-error.ts'
import type { FilterDefinition } from '../filter-spec/filter.ts'
import { OVERRIDE_PREFIX } from '../filter-spec/reserved.ts'

/**
 * Sends a source only those filters that it declares itself, to the letter; the others it would refuse or mean
 * otherwise. They stay among the query's criteria, which a live source evaluates on whatever comes back, so none is
 * dropped. Where that takes too long the source is `unsupported_filter`, with the filters that it lacks.
 */
export const withVocabulary =
  (declared: ReadonlyMap<string, FilterDefinition>) =>
  (source: Source): Source =>
  async (query, signal) => {
    const wanted = new Map(query.criteria.map(({ filter }) => [filter.name, filter]))
    const lacking = [...wanted.values()].filter((filter) => !isSame(filter, declared.get(filter.name)))
    const isLacking = new Set(lacking.map(({ name }) => name))
    const filters = query.filters.filter(([name]) => !isLacking.has(filterName(name)))
    try {
      return await source({ ...query, filters }, signal)
    } catch (error) {
      if (lacking.length === 0 || !(error instanceof SourceError) || error.reason !== 'unsupported_filter')
        throw error
      throw new SourceError('unsupported_filter', error.message, { cause: error, filters: [...isLacking] })
    }
  }

/** `strict.gpu_model` belongs to `gpu_model`. */
const filterName = (parameter: string): string =>
  parameter.startsWith(OVERRIDE_PREFIX) ? parameter.slice(OVERRIDE_PREFIX.length) : parameter

const MEANING = ['path', 'op', 'value_type', 'alias_kind', 'on_missing'] as const

const isSame = (one: FilterDefinition, other: FilterDefinition | undefined): boolean =>
  other !== undefined && MEANING.every((key) => one[key] === other[key])
