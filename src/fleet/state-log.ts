import type { SourceDetails, SourceStatus } from '../domain/source/source-status.ts'
import type { StateChangeJson } from '../wire/fleet.ts'

export const MAX_CHANGES = 100

/** Changes of state between observations of all sources. */
export class StateLog {
  #before: ReadonlyMap<string, Observed> = new Map()
  #changes: readonly StateChangeJson[] = []

  /** Newest first. */
  get changes(): readonly StateChangeJson[] {
    return this.#changes
  }

  /** @param now ms since the Unix epoch */
  observe(statuses: readonly (SourceStatus | SourceDetails)[], now: number): void {
    const after = new Map(statuses.map((status) => [status.name, observed(status)]))
    const at = new Date(now).toISOString()
    const changes = [...after].flatMap(([registry, source]) => {
      const before = this.#before.get(registry)
      return before === undefined
        ? []
        : changesBetween(before, source).map((change) => ({ at, registry, ...change }))
    })
    // Failures first.
    changes.sort((one, other) => Number(other.reason !== null) - Number(one.reason !== null))
    this.#before = after
    if (changes.length > 0) this.#changes = [...changes, ...this.#changes].slice(0, MAX_CHANGES)
  }
}

type Observed = { state: string; breaker: string; reason: string | null }

const observed = (status: SourceStatus | SourceDetails): Observed => ({
  state: status.state,
  breaker: 'breaker' in status ? status.breaker.state : 'closed',
  reason: status.lastError?.reason ?? null,
})

function changesBetween(before: Observed, { reason, ...after }: Observed) {
  return (['state', 'breaker'] as const)
    .filter((part) => before[part] !== after[part])
    .map((part) => {
      const to = after[part]
      return { part, from: before[part], to, reason: to === 'loaded' || to === 'closed' ? null : reason }
    })
}
