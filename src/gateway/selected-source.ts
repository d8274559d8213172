import type { ListingQuery } from '../domain/query.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import type { Selection } from '../domain/source/selection.ts'
import { SourceError } from '../domain/source/source-error.ts'
import { selectAll } from '../listing-index/item-selection.ts'
import { type Copy, groupCopies, isReadable } from './merged-item.ts'
import { askSource, type Outcome, rankSources } from './sources.ts'

/**
 * All matches of every source, in the order of the configuration. A source that fails, or has not answered when the
 * signal aborts with a `SourceError`, has no selection.
 */
export async function selectSources(
  sources: readonly NamedSource[],
  query: ListingQuery,
  signal: AbortSignal,
): Promise<SelectedSource[]> {
  const ranked = rankSources(sources)
  return Promise.all(
    sources.map(async (source) => {
      const { select = selectAll(source.read) } = source
      const answer = await askSource(() => select(query, signal), signal)
      return new SelectedSource(source, ranked.indexOf(source), answer)
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

  addInvalid(): void {
    const { selection } = this
    if (selection === null) return
    this.result = { ...selection, total: selection.total - 1, invalid: (selection.invalid ?? 0) + 1 }
  }

  copiesOf(listingId: string): Copy[] {
    const found = this.selection?.find(listingId) ?? []
    return found.map((item) => ({ item, reader: this }))
  }
}

/**
 * The readable copies of each id that has several, grouped by listing and ordered by rank: the first of a group is shown.
 * Also yields in between, so that a caller can divide the search.
 */
export function* sharedCopies(selected: readonly SelectedSource[]): Generator<Copy[][]> {
  const smaller = smallerSources(selected)
  const largest = selected.find((one) => !smaller.includes(one))
  const known = new Set<string>()
  const shared = new Set<string>()
  for (const { selection } of smaller)
    for (const id of selection?.ids() ?? []) {
      if (known.has(id) || (largest?.selection?.find(id).length ?? 0) > 0) shared.add(id)
      known.add(id)
      yield []
    }
  for (const id of shared) yield groupCopies(selected.flatMap((one) => one.copiesOf(id)).filter(isReadable))
}

/** All but the largest: what only that one has is hidden by none. A gateway may repeat its own listings. */
export function smallerSources(selected: readonly SelectedSource[]): SelectedSource[] {
  const bySize = selected.toSorted((a, b) => b.total - a.total)
  return bySize.filter(({ source }, n) => n > 0 || source.mayRepeat === true)
}
