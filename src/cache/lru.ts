import { LRUCache } from 'lru-cache'
import type { Lifetime } from '../domain/source/freshness.ts'

export type CacheEntry<Value> = { value: Value; lifetime: Lifetime }

type LruOptions<Value> = {
  /** 0 stores nothing. */
  maxBytes: number
  sizeOf: (value: Value) => number
  now: () => number
}

/** Overhead in bytes of an entry besides its value and its key (two bytes a character). */
export const ENTRY_BYTES = 512

/** Values in memory by group and key. Evicts the least recently used beyond `maxBytes`. */
export class LruCache<Value> {
  readonly #options: LruOptions<Value>
  #entries: LRUCache<string, Stored<Value>>
  readonly #bytes = new Map<string, number>()

  constructor(options: LruOptions<Value>) {
    this.#options = options
    this.#entries = this.#open(options.maxBytes)
  }

  /** `null` if absent or past its `deleteAt`. */
  get(group: string, key: string): CacheEntry<Value> | null {
    const path = pathOf(group, key)
    const stored = this.#entries.get(path)
    if (stored === undefined) return null
    if (this.#options.now() < stored.entry.lifetime.deleteAt) return stored.entry
    this.#entries.delete(path)
    return null
  }

  set(group: string, key: string, entry: CacheEntry<Value>): void {
    const size = this.#options.sizeOf(entry.value) + ENTRY_BYTES + 2 * (group.length + key.length)
    this.#store(pathOf(group, key), { group, entry, size })
  }

  drop(group: string): void {
    for (const [path, stored] of this.#entries) if (stored.group === group) this.#entries.delete(path)
  }

  retain(groups: ReadonlySet<string>): void {
    for (const [path, { group }] of this.#entries) if (!groups.has(group)) this.#entries.delete(path)
  }

  resize(maxBytes: number): void {
    const before = this.#entries
    this.#entries = this.#open(maxBytes)
    this.#bytes.clear()
    for (const [path, stored] of before.rentries()) this.#store(path as string, stored as Stored<Value>)
  }

  bytes(group: string): number {
    return this.#bytes.get(group) ?? 0
  }

  #store(path: string, stored: Stored<Value>): void {
    this.#entries.set(path, stored)
    if (this.#entries.has(path)) this.#bytes.set(stored.group, this.bytes(stored.group) + stored.size)
  }

  #open(maxBytes: number): LRUCache<string, Stored<Value>> {
    // Without `max`, which lru-cache would allocate at once: `ENTRY_BYTES` bounds the number of entries.
    return new LRUCache({
      // lru-cache takes no 0 and no fractions; each entry is larger than 1.
      maxSize: Math.max(1, Math.floor(maxBytes)),
      sizeCalculation: ({ size }) => size,
      dispose: ({ group, size }) => this.#bytes.set(group, this.bytes(group) - size),
    })
  }
}

type Stored<Value> = { group: string; entry: CacheEntry<Value>; size: number }

function pathOf(group: string, key: string): string {
  return `${group}\n${key}`
}
