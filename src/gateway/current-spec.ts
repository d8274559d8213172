import { raceAbort, withDeadline } from '../domain/clock.ts'
import { maySee, type Reader } from '../domain/reader.ts'
import type { SourceError } from '../domain/source/source-error.ts'
import type { UpstreamKind } from '../domain/source/upstream.ts'
import { allowedValues } from '../filter-spec/allowed-values.ts'
import { type Declaring, type FederatedSpec, federate } from '../filter-spec/federated.ts'
import type { Filter, FilterSpec } from '../filter-spec/filter.ts'
import { filterNameOf } from '../filter-spec/parameters.ts'
import type { UpstreamSpec } from '../filter-spec/upstream-spec.ts'
import type { JsonObject } from '../json/value.ts'
import { isCovered } from '../vocabulary/names.ts'

/** The filter spec of one source. */
export type SpecSource = {
  name: string
  kind: UpstreamKind
  priority: number
  /** `null` where it is not known. */
  spec: () => UpstreamSpec | null
  /** Requests it where it is not fresh. Settles with the first answer, and never rejects; `null`: nothing to wait for. */
  load: () => Promise<unknown> | null
  /** Why it is not known. */
  failure: () => SourceError | null
}

/** The filters of all sources that a reader may see. */
export type CurrentSpec = FederatedSpec & {
  isCurrent: () => boolean
  /** Values that the listing shape of the source that defines the filter allows; empty for any. */
  allowed: (filter: string) => readonly string[]
}

/** Waits for sources that have not answered yet, unless all of `filters` (absent: any) are of the own filter spec. */
type ReadSpec = (
  reader: Reader,
  deadline: { ms: number; caller: AbortSignal },
  filters?: readonly (readonly [parameter: string, value: string])[],
) => Promise<CurrentSpec>

/** @param derived filters by what listings mean, of the specs that have one over what they are derived from */
export function createReadSpec(
  own: FilterSpec,
  sources: readonly SpecSource[],
  derived: readonly Filter[],
): ReadSpec {
  const byView = new Map<string, ReturnType<typeof memoized>>()
  const ownDerived = coveredBy(own.filters.values(), derived)
  const isKnown = (name: string): boolean =>
    own.filters.has(name) || ownDerived.some((filter) => filter.name === name)
  return async (reader, { ms, caller }, filters) => {
    const visible = sources.filter((source) => maySee(reader, source))
    const isOwn = filters?.every(([parameter]) => isKnown(filterNameOf(parameter))) ?? false
    const pending = visible.flatMap((source) => source.load() ?? [])
    if (pending.length > 0 && !isOwn) {
      const timeoutError = () => new Error('late')
      await withDeadline({ ms, timeoutError, caller }, (signal) =>
        raceAbort(Promise.all(pending), signal),
      ).catch(() => {
        // The deadline passed: continue with the specs that are known; sources without one are reported.
      })
    }
    const specOf = byView.get(reader.view) ?? memoized(own, derived)
    byView.set(reader.view, specOf)
    return specOf(visible)
  }
}

/** The derived filters that a curated vocabulary leaves. */
export function coveredBy(filters: Iterable<Filter>, derived: readonly Filter[]): readonly Filter[] {
  const paths = Array.from(filters, ({ compiled }) => compiled)
  return derived.filter(({ name }) => isCovered(name, paths))
}

function memoized(
  own: FilterSpec,
  derived: readonly Filter[],
): (sources: readonly SpecSource[]) => CurrentSpec {
  let latest: CurrentSpec | null = null
  return (sources) => {
    if (latest?.isCurrent()) return latest
    const specs = sources.map(({ spec }) => spec())
    const declaring = sources.flatMap(({ name, kind, priority }, n) => {
      const spec = specs[n]
      return spec ? [{ name, kind, priority, spec }] : []
    })
    const { filters, ...spec } = federate(own, declaring)
    // A Registry without a filter spec narrows nothing, and so does one whose filter spec is not known.
    const usable = specs.some((one) => !one?.filters.size) ? derived : coveredBy(filters.values(), derived)
    latest = {
      ...spec,
      filters: new Map([...filters, ...usable.map((filter) => [filter.name, filter] as const)]),
      isCurrent: () => sources.every(({ spec }, n) => spec() === specs[n]),
      allowed: (filter) => allowedIn(own, declaring, filter),
    }
    return latest
  }
}

function allowedIn(own: FilterSpec, declaring: readonly Declaring[], name: string): readonly string[] {
  const filter = own.filters.get(name)
  if (filter !== undefined) return allowedValues(own.listingShape as JsonObject, filter.compiled)
  const byPriority = declaring.toSorted((a, b) => a.priority - b.priority)
  const definer = byPriority.find(({ spec }) => spec.filters.has(name))
  return definer?.spec.allowed.get(name) ?? []
}
