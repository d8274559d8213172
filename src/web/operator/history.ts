import type { SourceDetailsJson } from '../../wire/source.ts'

/** Between two polls; `null` where nothing happened. */
export type Sample = {
  latencyMs: number | null
  /** Share of pages without a call, 0 to 1. */
  hitRate: number | null
}

export type History = {
  last: ReadonlyMap<string, SourceDetailsJson>
  samples: ReadonlyMap<string, readonly Sample[]>
}

export const NO_HISTORY: History = { last: new Map(), samples: new Map() }

/** Five minutes of polls. */
export const MAX_SAMPLES = 100

/** Forgets sources that are gone. Counts that restart add nothing. */
export const addPoll = ({ last, samples }: History, sources: readonly SourceDetailsJson[]): History => ({
  last: new Map(sources.map((source) => [source.registry, source])),
  samples: new Map(
    sources.map((source) => {
      const known = samples.get(source.registry) ?? []
      const before = last.get(source.registry)
      const next = before === undefined ? [] : [sampleOf(before, source)]
      return [source.registry, [...known, ...next].slice(-MAX_SAMPLES)]
    }),
  ),
})

const sampleOf = (before: SourceDetailsJson, now: SourceDetailsJson): Sample => ({
  latencyMs: ratio(
    grown(before.calls?.elapsed_ms, now.calls?.elapsed_ms),
    grown(before.calls?.ended, now.calls?.ended),
  ),
  hitRate: ratio(grown(hitsOf(before), hitsOf(now)), grown(pagesOf(before), pagesOf(now))),
})

const hitsOf = ({ cache }: SourceDetailsJson): number | undefined => cache && cache.fresh + cache.stale

const pagesOf = ({ cache }: SourceDetailsJson): number | undefined =>
  cache && cache.fresh + cache.stale + cache.miss

/** `null` if not counted, or if lower: another process answered, or it restarted. */
const grown = (before: number | undefined, now: number | undefined): number | null =>
  before === undefined || now === undefined || now < before ? null : now - before

const ratio = (part: number | null, whole: number | null): number | null =>
  part === null || whole === null || whole === 0 ? null : part / whole
