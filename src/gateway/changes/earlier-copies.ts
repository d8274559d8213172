import type { Copy } from '../../listing-index/copy.ts'

/** Of the copies that are kept. */
const MAX_BYTES = 16 * 1024 * 1024
const OVERHEAD_BYTES = 400

/** `copy`: `null` where the source did not have it; `after`: the state that followed. */
type Earlier = { copy: Copy | null; after: string }

/** The copies before the latest changes: whether a reader has been shown what is gone now. */
export class EarlierCopies {
  /** By source and key, the latest change last. */
  readonly #copies = new Map<string, Earlier>()
  #bytes = 0

  put(name: string, earlier: Earlier): void {
    this.delete(name)
    this.#copies.set(name, earlier)
    this.#bytes += bytesOf(name, earlier)
    while (this.#bytes > MAX_BYTES) this.delete(this.#copies.keys().next().value!)
  }

  delete(name: string): void {
    const earlier = this.#copies.get(name)
    if (earlier === undefined) return
    this.#copies.delete(name)
    this.#bytes -= bytesOf(name, earlier)
  }

  /** The copy before the change to that state; `undefined` where it is not known. */
  before(name: string, state: string): Copy | null | undefined {
    const earlier = this.#copies.get(name)
    return earlier?.after === state ? earlier.copy : undefined
  }
}

function bytesOf(name: string, { copy }: Earlier): number {
  return OVERHEAD_BYTES + name.length + (copy?.bytes.length ?? 0)
}
