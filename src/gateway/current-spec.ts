import { maySee, type Reader } from '../domain/reader.ts'
import { allowedValues } from '../filter-spec/allowed-values.ts'
import { type Declaring, type FederatedSpec, federate } from '../filter-spec/federated.ts'
import { EMPTY_SPEC, type Filter, type FilterSpec } from '../filter-spec/filter.ts'
import { filterNameOf } from '../filter-spec/parameters.ts'
import type { JsonObject } from '../json/value.ts'
import { isCovered } from '../vocabulary/names.ts'
import { awaitWithin } from './asking.ts'
import type { MarketParts, MarketSource } from './market-settings.ts'

/** The filters of all sources that a reader may see. */
export type CurrentSpec = FederatedSpec & {
  isCurrent: () => boolean
  /** Values that the listing shape of the source that defines the filter allows; empty for any. */
  allowed: (filter: string) => readonly string[]
}

/** Waits for sources that have not answered yet, unless all of `filters` (absent: any) are of the own filter spec. */
export type ReadSpec = (
  reader: Reader,
  deadline: { ms: number; caller: AbortSignal },
  filters?: readonly (readonly [parameter: string, value: string])[],
) => Promise<CurrentSpec>

/** With filters by what listings mean, of the specs that have one over what they are derived from. */
export function createReadSpec({ spec, sources, vocabulary }: MarketParts): ReadSpec {
  const own = spec ?? EMPTY_SPEC
  const derived = vocabulary.filters(own.filters)
  const byView = new Map<string, CurrentSpec>()
  const declaring = sources.filter((source): source is DeclaringSource => source.spec !== undefined)
  const ownDerived = coveredBy(own.filters.values(), derived)
  const isKnown = (name: string): boolean =>
    own.filters.has(name) || ownDerived.some((filter) => filter.name === name)
  return async (reader, { ms, caller }, filters) => {
    const visible = declaring.filter((source) => maySee(reader, source))
    const isOwn = filters?.every(([parameter]) => isKnown(filterNameOf(parameter))) ?? false
    const pending = visible.flatMap(({ spec }) => spec.load() ?? [])
    // Once time is up, with the specs that are known: sources without one are reported.
    if (pending.length > 0 && !isOwn) await awaitWithin(ms, caller, pending)
    const known = byView.get(reader.view)
    if (known?.isCurrent() === true) return known
    const current = specOver(visible, own, derived)
    byView.set(reader.view, current)
    return current
  }
}

/** One with a filter spec of its own. */
type DeclaringSource = MarketSource & { spec: NonNullable<MarketSource['spec']> }

/** The derived filters that a curated vocabulary leaves. */
export function coveredBy(filters: Iterable<Filter>, derived: readonly Filter[]): readonly Filter[] {
  const paths = Array.from(filters, ({ compiled }) => compiled)
  return derived.filter(({ name }) => isCovered(name, paths))
}

function specOver(
  sources: readonly DeclaringSource[],
  own: FilterSpec,
  derived: readonly Filter[],
): CurrentSpec {
  const specs = sources.map(({ spec }) => spec.current)
  const declaring = sources.flatMap(({ name, priority, isGateway }, n): Declaring[] => {
    const spec = specs[n]
    return spec ? [{ name, kind: isGateway ? 'gateway' : 'registry', priority, spec }] : []
  })
  const { filters, ...spec } = federate(own, declaring)
  // A Registry without a filter spec narrows nothing, and so does one whose filter spec is not known.
  const usable = specs.some((one) => !one?.filters.size) ? derived : coveredBy(filters.values(), derived)
  return {
    ...spec,
    filters: new Map([...filters, ...usable.map((filter) => [filter.name, filter] as const)]),
    isCurrent: () => sources.every(({ spec }, n) => spec.current === specs[n]),
    allowed: (filter) => allowedIn(own, declaring, filter),
  }
}

function allowedIn(own: FilterSpec, declaring: readonly Declaring[], name: string): readonly string[] {
  const filter = own.filters.get(name)
  if (filter !== undefined) return allowedValues(own.listingShape as JsonObject, filter.compiled)
  const byPriority = declaring.toSorted((a, b) => a.priority - b.priority)
  const definer = byPriority.find(({ spec }) => spec.filters.has(name))
  return definer?.spec.allowed.get(name) ?? []
}
