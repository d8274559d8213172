import type { Reader } from '../domain/api-key.ts'
import type { Visibility } from '../domain/page.ts'
import type { UpstreamKind } from '../domain/upstream.ts'
import { type FederatedSpec, federate } from '../filter-spec/federated.ts'
import type { FilterSpec } from '../filter-spec/filter.ts'
import { filterNameOf } from '../filter-spec/reserved.ts'
import type { UpstreamSpec } from '../filter-spec/upstream-spec.ts'
import { maySee } from './visible.ts'

/** An upstream as its vocabulary is concerned. */
export type SpecSource = {
  name: string
  kind: UpstreamKind
  visibility: Visibility
  priority: number
  /** What is known of its filter spec now; `null` where nothing is. */
  spec: () => UpstreamSpec | null
  /** Settles once it was asked for its filter spec for the first time. Never rejects. */
  known: () => Promise<unknown>
}

/**
 * What a reader may ask: our own filters, and those of the upstreams that she may see. Waits for those of them that
 * have just been asked what they declare for the first time, unless all that is `asked` (not given: everything) are
 * filters of our own.
 */
export type Vocabulary = (
  reader: Reader,
  asked?: readonly (readonly [parameter: string, value: string])[],
) => Promise<FederatedSpec>

/** The federated filter spec of `contract.md` 3.2, put together anew only when an upstream's has changed. */
export const federatedVocabulary = (own: FilterSpec, upstreams: readonly SpecSource[]): Vocabulary => {
  const forAll = remembering(own)
  const forPublic = remembering(own)
  return async (reader, asked) => {
    const visible = upstreams.filter((upstream) => maySee(reader, upstream))
    const isOwn = asked?.every(([parameter]) => own.filters.has(filterNameOf(parameter))) ?? false
    if (!isOwn) await Promise.all(visible.map(({ known }) => known()))
    return visible.length === upstreams.length ? forAll(visible) : forPublic(visible)
  }
}

/** A Registry without upstreams has its own words only. */
export const ownVocabulary = (own: FilterSpec): Vocabulary => federatedVocabulary(own, [])

const remembering = (own: FilterSpec): ((upstreams: readonly SpecSource[]) => FederatedSpec) => {
  let made: { from: readonly (UpstreamSpec | null)[]; spec: FederatedSpec } | null = null
  return (upstreams) => {
    const from = upstreams.map(({ spec }) => spec())
    if (made?.from.every((spec, n) => spec === from[n])) return made.spec
    const declaring = upstreams.flatMap(({ name, kind, priority }, n) => {
      const spec = from[n]
      return spec ? [{ name, kind, priority, spec }] : []
    })
    made = { from, spec: federate(own, declaring) }
    return made.spec
  }
}
