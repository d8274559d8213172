import { type Block, isBlocking } from '../domain/block.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import type { Item } from '../domain/source/reading.ts'
import { KeySet } from './key-set.ts'
import type { Denials } from './restrict-source.ts'

/** What the operator leaves out, from the file and at run time. */
export type Curation = {
  /** Publishers of the file, everywhere. */
  denyPublishers: readonly string[]
  /** Blocks that hold now. */
  blocks: () => readonly Pick<Block, 'subject' | 'source'>[]
  /** Calls back in the turn in which they change. */
  onChange: (listener: () => void) => () => void
}

/** The operator's rules over one source. */
export class SourceDenials implements Denials {
  readonly #source: NamedSource
  readonly #curation: Curation
  readonly #rows = new KeySet(() => this.#follow())
  /** Ids whose copies have changed since the rows were looked at. */
  readonly #changed = new Set<string>()
  readonly #listeners = new Set<(listingIds: Iterable<string>) => void>()
  readonly #ends: readonly (() => void)[]
  #rules: readonly Pick<Block, 'subject'>[] = []
  version = 0

  constructor(source: NamedSource, curation: Curation) {
    this.#source = source
    this.#curation = curation
    this.#apply()
    const ends = [curation.onChange(() => this.#apply())]
    const end = source.held?.onChange((ids) => {
      if (this.isActive()) for (const id of ids) this.#changed.add(id)
    })
    this.#ends = end === undefined ? ends : [...ends, end]
  }

  get rows(): KeySet {
    return this.#rows
  }

  isActive(): boolean {
    return this.#rules.length > 0
  }

  denies(item: Item): boolean {
    return this.#rules.some((rule) => isBlocking(rule, item))
  }

  onChange(listener: (listingIds: Iterable<string>) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  close(): void {
    for (const end of this.#ends) end()
  }

  /** Looks at every copy again: rules change seldom. */
  #apply(): void {
    const { denyPublishers, blocks } = this.#curation
    const wasActive = this.isActive()
    this.#rules = [
      ...denyPublishers.map((publisher) => ({ subject: { kind: 'publisher', publisher } as const })),
      ...blocks().filter(({ source }) => source === null || source === this.#source.name),
    ]
    this.version++
    const { held } = this.#source
    if (held === undefined || !(wasActive || this.isActive())) return
    this.#changed.clear()
    const changed = new Set([...held.ids()].filter((id) => this.#update(id)))
    if (changed.size > 0) for (const listener of this.#listeners) listener(changed)
  }

  #follow(): void {
    for (const id of this.#changed) this.#update(id)
    this.#changed.clear()
  }

  /** @returns whether other copies of that id are denied than before */
  #update(listingId: string): boolean {
    const copies = this.#source.held?.find(listingId) ?? []
    return this.#rows.set(
      listingId,
      copies.flatMap(({ key, item }) => (this.denies(item) ? [key] : [])),
    )
  }
}
