import type { SourceDetailsJson } from '../../wire/source.ts'

/** Of the time between two polls; `null` without calls or pages. */
export type Sample = {
  latencyMs: number | null
  /** Share of pages without a call, 0 to 1. */
  hitRate: number | null
}

type PollHistory = {
  last: ReadonlyMap<string, SourceDetailsJson>
  samples: ReadonlyMap<string, readonly Sample[]>
}

export const NO_HISTORY: PollHistory = { last: new Map(), samples: new Map() }

/** Five minutes of polls. */
export const MAX_SAMPLES = 100

/** Drops removed sources. A count that restarts gives no sample. */
export const addPoll = (
  { last, samples }: PollHistory,
  sources: readonly SourceDetailsJson[],
): PollHistory => ({
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
    growth(before.calls?.elapsed_ms, now.calls?.elapsed_ms),
    growth(before.calls?.ended, now.calls?.ended),
  ),
  hitRate: ratio(growth(hitsOf(before), hitsOf(now)), growth(pagesOf(before), pagesOf(now))),
})

const hitsOf = ({ cache }: SourceDetailsJson): number | undefined => cache && cache.fresh + cache.stale

const pagesOf = ({ cache }: SourceDetailsJson): number | undefined =>
  cache && cache.fresh + cache.stale + cache.miss

/** `null` if not counted, or if lower: another process answered, or it restarted. */
const growth = (before: number | undefined, now: number | undefined): number | null =>
  before === undefined || now === undefined || now < before ? null : now - before

const ratio = (part: number | null, total: number | null): number | null =>
  part === null || total === null || total === 0 ? null : part / total
