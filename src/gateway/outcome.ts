import type { NamedSource, ReadingInfo } from '../domain/reading.ts'
import { SourceError } from '../domain/source-error.ts'

export type Outcome = { source: NamedSource; elapsedMs: number; result: ReadingInfo | SourceError }

export type FanOutOptions = {
  /** Default: all visible sources. */
  named?: readonly string[] | null
  /** Default: the gateway's. */
  budgetMs?: number | undefined
  requireAll?: boolean
  /** Only the local Registry is read. */
  isLoop?: boolean
}

/** This order decides ties of position. */
export function rankSources<S extends Pick<NamedSource, 'name' | 'priority'>>(sources: readonly S[]): S[] {
  return sources.toSorted(
    (a, b) => a.priority - b.priority || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
  )
}

export function skipAsLoop(source: NamedSource): NamedSource {
  if (source.mode === 'local') return source
  return {
    ...source,
    read: async () => {
      throw new SourceError('loop', 'the question has been through this gateway before')
    },
  }
}
