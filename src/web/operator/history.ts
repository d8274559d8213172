import type { AdminSource } from './admin-source.ts'

/** What happened at a source between two polls. `null` where nothing did. */
export type Sample = {
  /** Milliseconds that a call took on average. */
  latencyMs: number | null
  /** From 0 to 1: pages that needed no call, of all that were given. */
  hitRate: number | null
}

/** The polls of a page so far: counts as they were last told, and what they changed by, oldest first. */
export type History = {
  last: ReadonlyMap<string, AdminSource>
  samples: ReadonlyMap<string, readonly Sample[]>
}

export const NO_HISTORY: History = { last: new Map(), samples: new Map() }

/** Five minutes of polls. */
export const MAX_SAMPLES = 100

/** With another poll. Sources that are gone are forgotten, and a gateway that counts anew adds nothing. */
export const addPoll = ({ last, samples }: History, sources: readonly AdminSource[]): History => ({
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

const sampleOf = (before: AdminSource, now: AdminSource): Sample => ({
  latencyMs: ratio(
    grown(before.calls?.elapsed_ms, now.calls?.elapsed_ms),
    grown(before.calls?.ended, now.calls?.ended),
  ),
  hitRate: ratio(grown(hitsOf(before), hitsOf(now)), grown(pagesOf(before), pagesOf(now))),
})

const hitsOf = ({ cache }: AdminSource): number | undefined => cache && cache.fresh + cache.stale

const pagesOf = ({ cache }: AdminSource): number | undefined =>
  cache && cache.fresh + cache.stale + cache.miss

/** `null` where it is not counted, or is less than it was: another process has answered, or it began anew. */
const grown = (before: number | undefined, now: number | undefined): number | null =>
  before === undefined || now === undefined || now < before ? null : now - before

const ratio = (part: number | null, whole: number | null): number | null =>
  part === null || whole === null || whole === 0 ? null : part / whole
