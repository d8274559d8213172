import type { NamedSource } from '../domain/source/named-source.ts'
import type { Selection } from '../domain/source/selection.ts'
import { SourceError } from '../domain/source/source-error.ts'
import type { Deciders } from './deciders.ts'
import { askSource, type Outcome } from './sources.ts'

/**
 * All matches of every source, by rank, less those that better sources have. A source that fails, or has not answered
 * when the signal aborts with a `SourceError`, has no selection.
 */
export async function selectSources(
  ranked: readonly NamedSource[],
  deciders: Deciders,
  signal: AbortSignal,
): Promise<SelectedSource[]> {
  return Promise.all(
    ranked.map(async (source, rank) => {
      const answer = await askSource(() => source.select(deciders.queryOf(rank), signal), signal)
      return new SelectedSource(source, rank, answer)
    }),
  )
}

export class SelectedSource implements Outcome {
  readonly source: NamedSource
  readonly rank: number
  readonly elapsedMs: number
  result: Selection | SourceError

  constructor(
    source: NamedSource,
    rank: number,
    { result, elapsedMs }: { result: Selection | SourceError; elapsedMs: number },
  ) {
    this.source = source
    this.rank = rank
    this.result = result
    this.elapsedMs = elapsedMs
  }

  get selection(): Selection | null {
    return this.result instanceof SourceError ? null : this.result
  }

  get total(): number {
    return this.selection?.total ?? 0
  }

  get isStale(): boolean {
    return this.selection?.stale === true
  }
}
