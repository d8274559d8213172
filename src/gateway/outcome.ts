import type { NamedSource, ReadingInfo } from '../domain/reading.ts'
import { SourceError } from '../domain/source-error.ts'

/** How one source answered one question, or why it did not. */
export type Outcome = { source: NamedSource; elapsedMs: number; result: ReadingInfo | SourceError }

/** How one reader wants a question asked. */
export type FanOutOptions = {
  /** Only these sources; absent or `null` asks all that the reader may see. */
  named?: readonly string[] | null
  /** Default: the gateway's own. */
  budgetMs?: number | undefined
  /** Fails unless every source has a current answer. */
  requireAll?: boolean
  /** The question has been through this gateway before: only the local Registry is asked. */
  isLoop?: boolean
}

/** Sources by priority, then by name: the order that decides between listings of one instant. */
export function rankSources<S extends Pick<NamedSource, 'name' | 'priority'>>(sources: readonly S[]): S[] {
  return sources.toSorted(
    (a, b) => a.priority - b.priority || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
  )
}

/** For a question that has been here before: every other source would only send it around again. */
export function skipAsLoop(source: NamedSource): NamedSource {
  if (source.mode === 'local') return source
  return {
    ...source,
    read: async () => {
      throw new SourceError('loop', 'the question has been through this gateway before')
    },
  }
}
