import type { Cache, Kept } from './cache.ts'

/** A cache at hand before one that is shared: what is found in the shared one is at hand from then on. */
export class TieredCache<Value> implements Cache<Value> {
  readonly #near: Cache<Value>
  readonly #far: Cache<Value>

  constructor(near: Cache<Value>, far: Cache<Value>) {
    this.#near = near
    this.#far = far
  }

  get(group: string, key: string): Promise<Kept<Value> | null> {
    return this.#near.get(group, key)
  }

  async lookUp(group: string, key: string): Promise<Kept<Value> | null> {
    const [near, far] = await Promise.all([this.#near.get(group, key), this.#far.lookUp(group, key)])
    if (far === null || (near !== null && near.lifetime.fetchedAt >= far.lifetime.fetchedAt)) return near
    await this.#near.set(group, key, far)
    return far
  }

  async set(group: string, key: string, kept: Kept<Value>): Promise<void> {
    await Promise.all([this.#near.set(group, key, kept), this.#far.set(group, key, kept)])
  }

  async drop(group: string): Promise<void> {
    await Promise.all([this.#near.drop(group), this.#far.drop(group)])
  }

  claim(group: string, key: string, ms: number): Promise<(() => void) | null> {
    return this.#far.claim(group, key, ms)
  }

  bytes(group: string): number {
    return this.#near.bytes(group)
  }
}
