import { definitionOf, type Filter, type FilterDefinition } from '../../filter-spec/filter.ts'
import { OPERATIONS } from '../../filter-spec/operations/operations.ts'
import { hasAnswered } from '../../wire/describe-missing.ts'
import type { FacetJson } from '../../wire/facets.ts'
import type { SourceNote } from '../../wire/source.ts'
import type { CurrentSpec } from '../current-spec.ts'
import type { MarketSettings, MarketSource } from '../market-settings.ts'
import { type Completeness, nameSome } from '../source-report.ts'
import type { MergedFacets } from './facets.ts'

export type FilterDescription = FilterDefinition & {
  /** Those that declare the filter, where not all do. */
  registries?: readonly string[]
  /** The only values that the listing shape allows. */
  allowed?: readonly string[] | undefined
  /** Of open listings; absent where they were not counted. */
  counts?: FacetJson | undefined
} & Pick<Filter, 'parseDerived'>

export type FilterDescriptions = Completeness & {
  filters: readonly FilterDescription[]
  /** Sources that answered that they have no filter spec. */
  undeclared: readonly string[]
  /** Which sources' listings the counts are of. */
  counted: 'all' | 'some' | 'none'
}

const MAX_COUNTED = 32

/** Filters by value, whose values are counted. */
export function countedFilters(filters: ReadonlyMap<string, Filter>): Filter[] {
  return [...filters.values()].filter(({ op }) => OPERATIONS[op].isByValue).slice(0, MAX_COUNTED)
}

/** @param counts `null` where they were not counted */
export function describeFilters(
  spec: CurrentSpec,
  visible: readonly MarketSource[],
  counts: MergedFacets | null,
  settings: MarketSettings,
): FilterDescriptions {
  const { filters: declared } = JSON.parse(spec.body) as { filters: FilterDescription[] }
  const derived = [...spec.filters.values()].filter(({ parseDerived }) => parseDerived !== undefined)
  const filters = [
    ...derived.map((one) => ({ ...definitionOf(one), parseDerived: one.parseDerived! })),
    ...declared,
  ]
  const sources = visible.map((source) => noteOnSpec(source, counts, settings))
  return {
    filters: filters.map((filter) => {
      const allowed = spec.allowed(filter.name)
      const values = allowed.length === 0 ? undefined : allowed
      return { ...filter, allowed: values, counts: countsOf(counts, filter.name) }
    }),
    ...nameSome(
      Array.from(sources, (source) => [source] as const),
      settings,
    ),
    undeclared: visible.filter(declaresNone).map(({ name }) => name),
    counted: counts === null ? 'none' : counts.complete ? 'all' : 'some',
    complete: sources.every(({ state }) => hasAnswered(state)),
  }
}

/** A filter may have the name of what every object inherits. */
function countsOf(counts: MergedFacets | null, filter: string): FacetJson | undefined {
  return counts !== null && Object.hasOwn(counts.facets, filter) ? counts.facets[filter] : undefined
}

function declaresNone({ spec }: MarketSource): boolean {
  if (spec === undefined) return false
  const { current, failure } = spec
  return current === null ? spec.load() === null && failure === null : current.filters.size === 0
}

/** With the age of what was counted. */
function noteOnSpec(
  source: MarketSource,
  counts: MergedFacets | null,
  { describeFailure }: MarketSettings,
): SourceNote {
  const { name, isOwn, spec } = source
  const named = { registry: name, ...(isOwn && { mode: 'local' as const }) }
  if (spec === undefined || spec.current !== null || declaresNone(source)) {
    const { state, ...counted } = counts?.sources.find(({ registry }) => registry === name) ?? {}
    return state !== undefined && hasAnswered(state)
      ? { ...counted, ...named, state }
      : { ...named, state: 'loaded' }
  }
  const failure = spec.failure
  const detail = failure && describeFailure?.(failure, name)
  return { ...named, state: 'unavailable', reason: failure?.reason, ...(detail && { detail }) }
}
