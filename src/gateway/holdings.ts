import type { HiddenRows } from '../domain/query.ts'
import type { Held } from '../domain/source/held.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import { decide, type RankedCopy } from './authority.ts'

/** Selections of sources whose hidden rows are kept: readers with and without keys, and some by name. */
const MAX_SCOPES = 16

export type HeldSource = Pick<NamedSource, 'name' | 'mode'> & { held: Held }

/**
 * All sources in memory, by rank: which of their listings have several copies, and which rows of each the better ones
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

  constructor(ranked: readonly NamedSource[]) {
    this.#sources = ranked.filter((source): source is NamedSource & HeldSource => source.held !== undefined)
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

  /** Rows that better ones of these sources hide, source by source. @param ranked all answer open listings from memory */
  hiddenRows(ranked: readonly HeldSource[]): readonly HiddenRows[] {
    const name = JSON.stringify(ranked.map((source) => source.name))
    const scope = this.#scopes.get(name) ?? new Scope(ranked, this.#shared)
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

/** Copies of that id in one source. */
export function heldCopies(
  { held, mode }: Pick<NamedSource, 'held' | 'mode'>,
  rank: number,
  listingId: string,
) {
  const copies = held?.find(listingId) ?? []
  return copies.map((copy) => ({ ...copy, rank, isOwn: mode === 'local' }))
}

type HeldRow = RankedCopy & { key: string }

/** One selection of sources in memory. */
class Scope {
  /** Ids whose rows are looked at again when the next question is answered. */
  readonly changed: Set<string>
  readonly #sources: readonly HeldSource[]
  readonly hidden: readonly KeySet[]

  constructor(sources: readonly HeldSource[], shared: ReadonlySet<string>) {
    this.#sources = sources
    this.hidden = sources.map(() => new KeySet(() => this.#updateAll()))
    this.changed = new Set(shared)
  }

  #updateAll(): void {
    for (const id of this.changed) this.#update(id)
    this.changed.clear()
  }

  #update(listingId: string): void {
    const rows: HeldRow[] = this.#sources.flatMap((source, rank) => heldCopies(source, rank, listingId))
    const keys = this.hidden.map((): string[] => [])
    for (const { otherCopies } of decide(rows, { status: 'open' }))
      for (const { rank, key } of otherCopies) keys[rank]!.push(key)
    for (const [rank, hidden] of this.hidden.entries()) hidden.set(listingId, keys[rank]!)
  }
}

/** Keys of rows, which are replaced id by id. `update`: before they are read, for what has changed. */
class KeySet implements HiddenRows {
  readonly #update: () => void
  readonly #keys = new Set<string>()
  #version = 0
  readonly #byId = new Map<string, readonly string[]>()

  constructor(update: () => void) {
    this.#update = update
  }

  get keys(): ReadonlySet<string> {
    this.#update()
    return this.#keys
  }

  get version(): number {
    this.#update()
    return this.#version
  }

  set(listingId: string, keys: readonly string[]): void {
    const before = this.#byId.get(listingId) ?? NONE
    if (before.length === keys.length && before.every((key, n) => key === keys[n])) return
    for (const key of before) this.#keys.delete(key)
    for (const key of keys) this.#keys.add(key)
    if (keys.length === 0) this.#byId.delete(listingId)
    else this.#byId.set(listingId, keys)
    this.#version++
  }
}

const NONE: readonly string[] = []
