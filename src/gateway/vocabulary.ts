import type { Reader } from '../domain/api-key.ts'
import { raceAbort, withDeadline } from '../domain/clock.ts'
import type { Visibility } from '../domain/source/reading.ts'
import type { UpstreamKind } from '../domain/source/upstream.ts'
import { type FederatedSpec, federate } from '../filter-spec/federated.ts'
import type { FilterSpec } from '../filter-spec/filter.ts'
import { filterNameOf } from '../filter-spec/parameters.ts'
import type { UpstreamSpec } from '../filter-spec/upstream-spec.ts'
import { maySee } from './sources.ts'

type SpecSource = {
  name: string
  kind: UpstreamKind
  visibility: Visibility
  priority: number
  spec: () => UpstreamSpec | null
  /** Settles after the first request for it. Never rejects. */
  loaded: Promise<unknown>
}

/** Waits for upstreams that have not answered yet, unless all of `filters` (absent: any) are local filters. */
export type ReadVocabulary = (
  reader: Reader,
  deadline: { ms: number; caller: AbortSignal },
  filters?: readonly (readonly [parameter: string, value: string])[],
) => Promise<CurrentSpec>

export type CurrentSpec = FederatedSpec & { isCurrent: () => boolean }

export function createReadVocabulary(own: FilterSpec, upstreams: readonly SpecSource[]): ReadVocabulary {
  const forAll = memoized(own)
  const forPublic = memoized(own)
  const isLoaded = new Set<SpecSource>()
  for (const upstream of upstreams) void upstream.loaded.then(() => isLoaded.add(upstream))
  return async (reader, { ms, caller }, filters) => {
    const visible = upstreams.filter((upstream) => maySee(reader, upstream))
    const isOwn = filters?.every(([parameter]) => own.filters.has(filterNameOf(parameter))) ?? false
    const pending = isOwn ? [] : visible.filter((upstream) => !isLoaded.has(upstream))
    if (pending.length > 0) {
      const loaded = Promise.all(pending.map((upstream) => upstream.loaded))
      const timeoutError = () => new Error('late')
      await withDeadline({ ms, timeoutError, caller }, (signal) => raceAbort(loaded, signal)).catch(() => {
        // The deadline passed: continue with the known specs; sources without one are reported.
      })
    }
    return visible.length === upstreams.length ? forAll(visible) : forPublic(visible)
  }
}

function memoized(own: FilterSpec): (upstreams: readonly SpecSource[]) => CurrentSpec {
  let made: CurrentSpec | null = null
  return (upstreams) => {
    if (made?.isCurrent()) return made
    const from: readonly (UpstreamSpec | null)[] = upstreams.map(({ spec }) => spec())
    const declaring = upstreams.flatMap(({ name, kind, priority }, n) => {
      const spec = from[n]
      return spec ? [{ name, kind, priority, spec }] : []
    })
    const isCurrent = (): boolean => upstreams.every(({ spec }, n) => spec() === from[n])
    made = { ...federate(own, declaring), isCurrent }
    return made
  }
}
