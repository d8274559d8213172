import { createHash, hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { ApiKey, KeyScope } from '../domain/api-key.ts'
import type { Store } from '../store/store.ts'
import type { Replica } from './replica.ts'

/** 256 bits, 43 characters of `A–Z a–z 0–9 - _` (`protocol.md` 1.3). */
const RAW_KEY_BYTES = 32

/** Per-user keys: minted, listed, revoked, recognised (`spec.md` 2.4, 3.1). Only hashes are kept. */
export class ApiKeys {
  readonly #store: Store
  readonly #replica: Replica

  constructor(store: Store, replica: Replica) {
    this.#store = store
    this.#replica = replica
  }

  /**
   * The active key behind a bearer token, else `null`. It is found by its hash, so how long that takes tells nothing
   * about any key but one whose hash is known.
   */
  recognise(raw: string): ApiKey | null {
    const key = this.#replica.projection.keyByHash(hashKey(raw))
    return key === null || key.revokedAt !== null ? null : key
  }

  /** Makes a key. `raw` is shown once and kept nowhere. */
  async mint(name: string, scope: KeyScope): Promise<{ key: ApiKey; raw: string }> {
    const raw = randomBytes(RAW_KEY_BYTES).toString('base64url')
    const key = await this.#store.addKey({ name, scope, hash: hashKey(raw) })
    await this.#replica.catchUp()
    return { key, raw }
  }

  /** Seeds the shared bootstrap key where there has never been a key (`protocol.md` 1.1). */
  async seed(raw: string): Promise<void> {
    await this.#store.seedKey({ name: 'bootstrap', scope: 'write', hash: hashKey(raw) })
    await this.#replica.catchUp()
  }

  /** Newest first, revoked ones included. */
  list(): ApiKey[] {
    return this.#replica.projection.keys()
  }

  /** Idempotent; `false` for an unknown id. */
  async revoke(id: number): Promise<boolean> {
    const key = await this.#store.revokeKey(id)
    await this.#replica.catchUp()
    return key !== null
  }
}

/** Compares secrets of any length in constant time. */
export const sameSecret = (a: string, b: string): boolean =>
  timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest())

/** In one go, which takes half the time: every request with a key pays it. */
const hashKey = (raw: string): string => hash('sha256', raw)
