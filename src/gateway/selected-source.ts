import { SeenListings } from '../domain/listing-identity.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import { FULL_RANGE, type Item } from '../domain/source/reading.ts'
import type { Selection } from '../domain/source/selection.ts'
import { SourceError } from '../domain/source/source-error.ts'
import { inTurns } from '../domain/turns.ts'
import { selectInTurns } from '../listing-index/item-selection.ts'
import { type Deciders, type Hiding, isReadable } from './deciders.ts'
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
      const answer = await askSource(() => select(source, rank, deciders, signal), signal)
      return new SelectedSource(source, rank, answer)
    }),
  )
}

export class SelectedSource implements Outcome {
  readonly source: NamedSource
  readonly rank: number
  readonly elapsedMs: number
  readonly isWhole = true
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

  /** A copy that a look-up found in a better source. */
  addHidden(hiding: Hiding | null = 'hidden'): void {
    const { selection } = this
    if (selection === null) return
    const hidden = (selection.hidden ?? 0) + (hiding === 'outside' ? 0 : 1)
    this.result = { ...selection, total: selection.total - 1, hidden }
  }
}

async function select(
  { read, select: selectInMemory, mayRepeat }: NamedSource,
  rank: number,
  deciders: Deciders,
  signal: AbortSignal,
): Promise<Selection> {
  const query = deciders.queryOf(rank)
  if (selectInMemory !== undefined && deciders.isHeld(rank)) return selectInMemory(query, signal)
  const { listings, hasMore: _, ...info } = await read(query, FULL_RANGE, signal)
  const seen = mayRepeat === true ? new SeenListings() : null
  const hidingOf = (item: Item): Hiding | null =>
    deciders.hidingOf(item, rank) ?? (seen?.add(item.listingId, item) === false ? 'hidden' : null)
  const { items, hidden, unreadable } = await inTurns(visibleItems(listings, hidingOf))
  const invalid = (info.invalid ?? 0) + unreadable
  return {
    ...info,
    ...(await selectInTurns(items, query.sizesOf)),
    total: items.length,
    hidden: (info.hidden ?? 0) + hidden,
    invalid: invalid || undefined,
  }
}

function* visibleItems(listings: readonly Item[], hidingOf: (item: Item) => Hiding | null) {
  const items: Item[] = []
  let hidden = 0
  let unreadable = 0
  for (const item of listings) {
    const hiding = isReadable(item) ? hidingOf(item) : null
    if (!isReadable(item)) unreadable += item.isLeftOut === true ? 0 : 1
    else if (hiding === 'hidden') hidden++
    else if (hiding === null) items.push(item)
    yield
  }
  return { items, hidden, unreadable }
}
