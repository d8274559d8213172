import type { Copy } from '../../listing-index/copy.ts'

/** Of the copies that are kept. */
const MAX_BYTES = 16 * 1024 * 1024
const OVERHEAD_BYTES = 400
/** Of one copy: who changes it oftener makes only readers read again who ask less often. */
const MAX_CHANGES = 16

/** The copy before a change. `null`: the source had none, or it was left out; `undefined`: not known. */
type Before = Copy | null | undefined

/** `position`: of the entry that says so, once it has been read. `after`: the state that followed. */
type Change = { before: Before; after: string; position: number | null }

/** All changes behind the entry at `from`, oldest first. */
type History = { from: number; changes: Change[] }

/** The copies before the latest changes: whether a reader has been shown what is gone now. */
export class EarlierCopies {
  /** By source and key, the latest change last. */
  readonly #histories = new Map<string, History>()
  #bytes = 0

  /** @param latest position of the latest entry of that name; 0: the log has none */
  put(name: string, { before, after }: Omit<Change, 'position'>, latest: number): void {
    const { from, changes } = this.#take(name) ?? { from: latest, changes: [] }
    this.#keep(name, withinBound({ from, changes: [...changes, { before, after, position: null }] }))
    while (this.#bytes > MAX_BYTES) this.#take(this.#histories.keys().next().value!)
  }

  /** An entry was read: of changes that were put, or of another process. */
  read(name: string, { state, position }: { state: string; position: number }): void {
    const history = this.#take(name)
    if (history === undefined) return
    const { from, changes } = history
    const last = changes.findLastIndex((change) => change.position === null && change.after === state)
    const numbered = changes.map((change, n) => ({
      ...change,
      position: change.position ?? (n <= last ? position : null),
    }))
    const pending = changes.filter((change) => change.position === null)
    if (last !== -1) this.#keep(name, { from, changes: numbered })
    else if (pending.length > 0) this.#keep(name, { from: position, changes: pending })
  }

  /** The copies that the source had since then; `undefined` where they are not all known. */
  since(name: string, position: number): readonly (Copy | null)[] | undefined {
    const { from, changes } = this.#histories.get(name) ?? { from: Number.POSITIVE_INFINITY, changes: [] }
    if (from > position) return undefined
    const copies = changes.flatMap((one) =>
      one.position === null || one.position > position ? [one.before] : [],
    )
    return copies.length > 0 && copies.every((copy) => copy !== undefined) ? copies : undefined
  }

  clear(): void {
    this.#histories.clear()
    this.#bytes = 0
  }

  #keep(name: string, history: History): void {
    this.#histories.set(name, history)
    this.#bytes += bytesOf(name, history)
  }

  #take(name: string): History | undefined {
    const history = this.#histories.get(name)
    if (history === undefined) return undefined
    this.#histories.delete(name)
    this.#bytes -= bytesOf(name, history)
    return history
  }
}

function withinBound({ from, changes }: History): History {
  if (changes.length <= MAX_CHANGES) return { from, changes }
  const [oldest, next, ...rest] = changes
  const { position } = oldest!
  // Both may be of one entry.
  const kept = position === null ? { ...next!, before: undefined } : next!
  return { from: position ?? from, changes: [kept, ...rest] }
}

function bytesOf(name: string, { changes }: History): number {
  const copies = changes.reduce((sum, { before }) => sum + OVERHEAD_BYTES + (before?.bytes.length ?? 0), 0)
  return name.length + copies
}
