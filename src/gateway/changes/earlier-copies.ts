import { LRUCache } from 'lru-cache'
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
  /** By source and key. */
  readonly #histories = new LRUCache<string, History>({ maxSize: MAX_BYTES, sizeCalculation: bytesOf })

  /** @param latest position of the latest entry of that name; 0: the log has none */
  put(name: string, { before, after }: Omit<Change, 'position'>, latest: number): void {
    const { from, changes } = this.#histories.peek(name) ?? { from: latest, changes: [] }
    const change = { before, after, position: null }
    this.#histories.set(name, withinBound({ from, changes: [...changes, change] }))
  }

  /** An entry was read: of changes that were put, or of another process. */
  read(name: string, { state, position }: { state: string; position: number }): void {
    const history = this.#histories.peek(name)
    if (history === undefined) return
    const { from, changes } = history
    const last = changes.findLastIndex((change) => change.position === null && change.after === state)
    const numbered = changes.map((change, n) => ({
      ...change,
      position: change.position ?? (n <= last ? position : null),
    }))
    const pending = changes.filter((change) => change.position === null)
    if (last !== -1) this.#histories.set(name, { from, changes: numbered })
    else if (pending.length > 0) this.#histories.set(name, { from: position, changes: pending })
    else this.#histories.delete(name)
  }

  /** The copies that the source had since then; `undefined` where they are not all known. */
  since(name: string, position: number): readonly (Copy | null)[] | undefined {
    const { from, changes } = this.#histories.peek(name) ?? { from: Number.POSITIVE_INFINITY, changes: [] }
    if (from > position) return undefined
    const copies = changes.flatMap((one) =>
      one.position === null || one.position > position ? [one.before] : [],
    )
    return copies.length > 0 && copies.every((copy) => copy !== undefined) ? copies : undefined
  }

  clear(): void {
    this.#histories.clear()
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

function bytesOf({ changes }: History, name: string): number {
  const copies = changes.reduce((sum, { before }) => sum + OVERHEAD_BYTES + (before?.bytes.length ?? 0), 0)
  return name.length + copies
}
