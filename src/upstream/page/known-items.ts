import type { Micros } from '../../domain/timestamp.ts'
import type { FoundValues } from '../../listing-index/scan/row-scanner.ts'
import type { RowText } from '../../listing-index/scan/row-text.ts'

/** What a scan finds in the bytes of one item; nothing else affects it. */
export type ScannedItem = {
  readonly length: number
  /** `null`: not a listing, and the other members mean nothing. */
  readonly listingId: string | null
  readonly createdAt: Micros
  readonly storefrontUrl: string | null
  readonly publisherId: number | null
  readonly status: unknown
  /** Also set for other members that are `null`. */
  readonly hasMeta: boolean
  /** Whether its bytes were checked and may be shown. */
  isChecked: boolean
}

type KnownItem = { item: ScannedItem; found: FoundValues; hash: number; group: number }

/** Slots of bytes, in sets of four. Longer items are scanned each time. */
const SLOTS = 4096
const SLOT_BYTES = 2048
const WAYS = 4
/** Listings begin with their id. */
const HASHED_BYTES = 64

/**
 * Different questions are answered with the same listings, so an item whose bytes are known is not scanned again.
 * An object ends at its own brace: equal bytes are equal items. Items are added when they come the second time.
 * Holds 8 MiB of bytes, and what is found in them, at most.
 */
export class KnownItems {
  readonly #items: (KnownItem | undefined)[] = new Array(SLOTS).fill(undefined)
  readonly #seen = new Int32Array(4 * SLOTS)
  #bytes: Buffer | null = null
  #hash = 0

  /** @param group separates scans of different paths */
  find(row: RowText, at: number, group: number): KnownItem | null {
    this.#hash = at + HASHED_BYTES > row.length ? 0 : hashAt(row, at, group)
    const first = firstSlot(this.#hash)
    for (let slot = first; slot < first + WAYS; slot++) {
      const known = this.#items[slot]
      if (known === undefined || known.hash !== this.#hash || known.group !== group) continue
      const { length } = known.item
      if (at + length > row.length) continue
      const start = slot * SLOT_BYTES
      if (row.bytes.compare(this.#bytes!, start, start + length, at, at + length) === 0) return known
    }
    return null
  }

  /** After `find` of the same item. */
  add(row: RowText, at: number, group: number, item: ScannedItem, found: FoundValues): void {
    const hash = this.#hash
    const { length } = item
    // An item that is cut off could begin as a whole one does.
    if (hash === 0 || length > SLOT_BYTES || at + length >= row.length) return
    const seen = hash & (this.#seen.length - 1)
    if (this.#seen[seen] !== hash) {
      this.#seen[seen] = hash
      return
    }
    this.#bytes ??= Buffer.alloc(SLOTS * SLOT_BYTES)
    const first = firstSlot(hash)
    let slot = first + ((hash >>> 16) & (WAYS - 1))
    for (let n = first; n < first + WAYS; n++) if (this.#items[n] === undefined) slot = n
    row.bytes.copy(this.#bytes, slot * SLOT_BYTES, at, at + length)
    this.#items[slot] = { item, found: found.copy(), hash, group }
  }
}

function firstSlot(hash: number): number {
  return ((hash >>> 1) & (SLOTS / WAYS - 1)) * WAYS
}

function hashAt(row: RowText, at: number, group: number): number {
  let hash = group
  for (let n = 0; n < HASHED_BYTES; n += 4) {
    hash = Math.imul(hash ^ row.word(at + n), 0x9e3779b1)
    hash ^= hash >>> 15
  }
  return hash | 1
}
