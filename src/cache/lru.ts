import { LRUCache } from 'lru-cache'
import type { Cache, Kept } from './cache.ts'

export type LruOptions<Value> = {
  /** Most memory of all values together; 0 keeps nothing. */
  maxBytes: number
  /** Memory that a value takes up. */
  sizeOf: (value: Value) => number
  /** Milliseconds since the Unix epoch. */
  now: () => number
}

/** What an entry takes up besides its value: keys, times, the map's own share. */
export const ENTRY_BYTES = 1024

/** In this process, bounded by bytes; what was used longest ago makes room. */
export class LruCache<Value> implements Cache<Value> {
  readonly #options: LruOptions<Value>
  #entries: LRUCache<string, Entry<Value>> | null
  readonly #bytes = new Map<string, number>()

  constructor(options: LruOptions<Value>) {
    this.#options = options
    this.#entries = options.maxBytes === 0 ? null : this.#open(options.maxBytes)
  }

  async get(group: string, key: string): Promise<Kept<Value> | null> {
    const path = pathOf(group, key)
    const entry = this.#entries?.get(path)
    if (entry === undefined) return null
    if (this.#options.now() < entry.kept.lifetime.deleteAt) return entry.kept
    this.#entries?.delete(path)
    return null
  }

  lookUp(group: string, key: string): Promise<Kept<Value> | null> {
    return this.get(group, key)
  }

  async set(group: string, key: string, kept: Kept<Value>): Promise<void> {
    const size = this.#options.sizeOf(kept.value) + ENTRY_BYTES
    this.#keep(pathOf(group, key), { group, kept, size })
  }

  async drop(group: string): Promise<void> {
    for (const [path, entry] of this.#entries ?? []) if (entry.group === group) this.#entries?.delete(path)
  }

  /** It is shared with nobody. */
  async claim(): Promise<() => void> {
    return () => {}
  }

  /** What was used last is kept, as far as there is room for it. */
  resize(maxBytes: number): void {
    const before = this.#entries
    this.#entries = maxBytes === 0 ? null : this.#open(maxBytes)
    this.#bytes.clear()
    for (const [path, entry] of before?.rentries() ?? []) this.#keep(path as string, entry as Entry<Value>)
  }

  bytes(group: string): number {
    return this.#bytes.get(group) ?? 0
  }

  #keep(path: string, entry: Entry<Value>): void {
    this.#entries?.set(path, entry)
    if (this.#entries?.has(path)) this.#bytes.set(entry.group, this.bytes(entry.group) + entry.size)
  }

  #open(maxBytes: number): LRUCache<string, Entry<Value>> {
    return new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ size }) => size,
      dispose: ({ group, size }) => this.#bytes.set(group, this.bytes(group) - size),
    })
  }
}

type Entry<Value> = { group: string; kept: Kept<Value>; size: number }

const pathOf = (group: string, key: string): string => `${group}\n${key}`
