import { raceAbortAfterTick } from '../domain/clock.ts'
import type { ListingQuery } from '../domain/query.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import type { Item } from '../domain/source/reading.ts'
import type { Selection } from '../domain/source/selection.ts'
import { SourceError } from '../domain/source/source-error.ts'
import type { Micros } from '../domain/timestamp.ts'
import { selectAll } from '../listing-index/item-selection.ts'
import { type Copy, groupCopies } from './merged-item.ts'
import { type Outcome, rankSources } from './sources.ts'

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
  const selected = sources.map((source) => new SelectedSource(source, ranked.indexOf(source)))
  try {
    await raceAbortAfterTick(Promise.all(selected.map((one) => one.select(query, signal))), signal)
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    for (const one of selected) one.giveUp(error)
  }
  return selected
}

export class SelectedSource {
  readonly source: NamedSource
  readonly rank: number
  readonly #started = performance.now()
  #result: Selection | SourceError | null = null
  #elapsedMs = 0
  /** Unreadable copies that were visited. */
  #invalid = 0

  constructor(source: NamedSource, rank: number) {
    this.source = source
    this.rank = rank
  }

  get selection(): Selection | null {
    return this.#result instanceof SourceError ? null : this.#result
  }

  get outcome(): Outcome {
    const result = this.#result ?? new SourceError('budget_spent', 'was not read')
    return { source: this.source, elapsedMs: this.#elapsedMs, result: this.#withInvalid(result) }
  }

  #withInvalid(result: Selection | SourceError): Outcome['result'] {
    if (this.#invalid === 0 || result instanceof SourceError) return result
    const { total, invalid = 0 } = result
    return { ...result, total: total - this.#invalid, invalid: invalid + this.#invalid }
  }

  get isStale(): boolean {
    return this.selection?.stale === true
  }

  positionOf({ position }: Item): Micros {
    return position
  }

  addInvalid(): void {
    this.#invalid++
  }

  copiesOf(listingId: string): Copy[] {
    const found = this.selection?.find(listingId) ?? []
    return found.map((item) => ({ item, reader: this }))
  }

  async select(query: ListingQuery, signal: AbortSignal): Promise<void> {
    const { select = selectAll(this.source.read) } = this.source
    try {
      this.#end(await select(query, signal))
    } catch (error) {
      if (!(error instanceof SourceError)) throw error
      this.#end(error)
    }
  }

  /** A selection that comes later is dropped. */
  giveUp(reason: SourceError): void {
    this.#end(reason)
  }

  /** After it was selected: nothing of it counts. */
  fail(reason: SourceError): void {
    this.#result = reason
  }

  #end(result: Selection | SourceError): void {
    if (this.#result !== null) return
    this.#result = result
    this.#elapsedMs = performance.now() - this.#started
  }
}

/** Copies that are not shown, since a better one of their listing is. Visits every id of `smallerSources`. */
export function* hiddenCopies(selected: readonly SelectedSource[]): Generator<Copy> {
  const ranked = selected.toSorted((a, b) => a.rank - b.rank)
  for (const id of sharedIds(selected)) {
    const copies = ranked.flatMap((one) => one.copiesOf(id))
    for (const [, ...hidden] of groupCopies(copies)) yield* hidden
  }
}

/** Those with several copies. */
function sharedIds(selected: readonly SelectedSource[]): ReadonlySet<string> {
  const smaller = smallerSources(selected)
  const largest = selected.find((one) => !smaller.includes(one))
  const known = new Set<string>()
  const shared = new Set<string>()
  for (const { selection } of smaller)
    for (const id of selection?.ids() ?? []) {
      if (known.has(id) || (largest?.selection?.find(id).length ?? 0) > 0) shared.add(id)
      known.add(id)
    }
  return shared
}

/** All but the largest: what only that one has is hidden by none. A gateway may repeat its own listings. */
export function smallerSources(selected: readonly SelectedSource[]): SelectedSource[] {
  const bySize = selected.toSorted((a, b) => matchCount(b) - matchCount(a))
  return bySize.filter(({ source }, n) => n > 0 || source.mayRepeat === true)
}

export function matchCount({ selection }: SelectedSource): number {
  return selection?.total ?? 0
}
