import type { ListingStatus } from '../domain/listing.ts'
import type { HiddenRows } from '../domain/query.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import type { Item } from '../domain/source/reading.ts'
import { decide, type RankedCopy } from './authority.ts'
import { KeySet } from './key-set.ts'

/** Selections of sources whose hidden rows are kept: of each view, and some by name. */
const MAX_SCOPES = 64

export type HeldSource = Pick<NamedSource, 'name' | 'mode' | 'held'>

/**
 * All sources, by rank: which of their listings have several copies, and which rows of each the better ones
 * hide. Follows every change in the turn in which it happens.
 */
export class Holdings {
  /** Raised with every change of a copy. */
  version = 0
  readonly #sources: readonly HeldSource[]
  /** Ids of which there are several copies. */
  readonly #shared = new Set<string>()
  /** By the names of the sources. The latest used one is the last. */
  readonly #scopes = new Map<string, Scope>()
  readonly #endFollowing: readonly (() => void)[]

  constructor(ranked: readonly HeldSource[]) {
    this.#sources = ranked
    const ids = new Set<string>()
    for (const { held } of this.#sources)
      for (const id of held.ids())
        if (ids.has(id)) this.#shared.add(id)
        else ids.add(id)
    this.#endFollowing = this.#sources.map(({ held }) => held.onChange((changed) => this.#follow(changed)))
  }

  /** Whether there may be several copies in memory. */
  isShared(listingId: string): boolean {
    return this.#shared.has(listingId)
  }

  /**
   * Rows that better ones of these sources hide, source by source.
   * @param ranked all answer listings of that status from memory
   * @param view what decides which listings exist for the reader
   */
  hiddenRows(
    ranked: readonly HeldSource[],
    view: DecidingView,
    status: ListingStatus | null,
  ): readonly HiddenCopies[] {
    const name = JSON.stringify([view.key, status, ...ranked.map((source) => source.name)])
    const scope = this.#scopes.get(name) ?? new Scope(ranked, this.#shared, { view, status })
    this.#scopes.delete(name)
    this.#scopes.set(name, scope)
    if (this.#scopes.size > MAX_SCOPES) this.#scopes.delete(this.#scopes.keys().next().value!)
    return scope.hidden
  }

  close(): void {
    for (const end of this.#endFollowing) end()
  }

  #follow(listingIds: Iterable<string>): void {
    this.version++
    for (const id of new Set(listingIds)) {
      const wasShared = this.#shared.has(id)
      const isShared = this.#countCopies(id) > 1
      if (isShared) this.#shared.add(id)
      else this.#shared.delete(id)
      if (wasShared || isShared) for (const scope of this.#scopes.values()) scope.changed.add(id)
    }
  }

  #countCopies(listingId: string): number {
    let count = 0
    for (const { held } of this.#sources) count += held.find(listingId).length
    return count
  }
}

/** Which listings exist for a reader: those whose best copy matches the filter of the view. Views of equal keys are the same. */
export type DecidingView = { key: string; has: (item: Item, source: string) => boolean }

/** Rows of one source that better sources have. `outside`: the better copy is outside the view, so the listing does not exist. */
export type HiddenCopies = { hidden: HiddenRows; outside: HiddenRows }

/** Copies of that id in one source. */
export function heldCopies(
  { held, mode }: Pick<HeldSource, 'held' | 'mode'>,
  rank: number,
  listingId: string,
) {
  return held.find(listingId).map((copy) => ({ ...copy, rank, isOwn: mode === 'local' }))
}

type ScopeQuery = { view: DecidingView; status: ListingStatus | null }

type HeldRow = RankedCopy & { item: Item; key: string }

/** One selection of sources in memory. */
class Scope {
  /** Ids whose rows are looked at again when the next question is answered. */
  readonly changed: Set<string>
  readonly #sources: readonly HeldSource[]
  readonly #asked: ScopeQuery
  readonly hidden: readonly { hidden: KeySet; outside: KeySet }[]

  constructor(sources: readonly HeldSource[], shared: ReadonlySet<string>, asked: ScopeQuery) {
    this.#sources = sources
    this.#asked = asked
    const keySet = () => new KeySet(() => this.#updateAll())
    this.hidden = sources.map(() => ({ hidden: keySet(), outside: keySet() }))
    this.changed = new Set(shared)
  }

  #updateAll(): void {
    for (const id of this.changed) this.#update(id)
    this.changed.clear()
  }

  #update(listingId: string): void {
    const rows: HeldRow[] = this.#sources.flatMap((source, rank) => heldCopies(source, rank, listingId))
    const keys = this.hidden.map(() => ({ hidden: [] as string[], outside: [] as string[] }))
    const { view, status } = this.#asked
    const matches = ({ item, rank }: HeldRow) => view.has(item, this.#sources[rank]!.name)
    for (const { decider, otherCopies } of decide(rows, { status })) {
      const kind = otherCopies.length === 0 || matches(decider) ? 'hidden' : 'outside'
      for (const { rank, key } of otherCopies) keys[rank]![kind].push(key)
    }
    for (const [rank, { hidden, outside }] of this.hidden.entries()) {
      hidden.set(listingId, keys[rank]!.hidden)
      outside.set(listingId, keys[rank]!.outside)
    }
  }
}
