import { createHash, hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { ApiKey, KeyScope } from '../domain/api-key.ts'
import { EntrepotError } from '../errors.ts'
import type { Store } from '../store/store.ts'
import type { Replica } from './replica.ts'

/** 256 bits, 43 characters of `A–Z a–z 0–9 - _`. */
const RAW_KEY_BYTES = 32

/** Keys whose hashes are remembered; beyond that it begins anew. */
const MAX_REMEMBERED = 1000

/** Per-user keys: minted, listed, revoked, recognised. Only hashes are kept. */
export class ApiKeys {
  readonly #store: Store
  readonly #replica: Replica
  /** Hashes of the keys that are in use, which every request would have to compute else. Nothing else is taken on trust. */
  readonly #hashes = new Map<string, string>()

  constructor(store: Store, replica: Replica) {
    this.#store = store
    this.#replica = replica
  }

  /**
   * The active key behind a bearer token, else `null`. It is found by its hash, so how long that takes tells nothing
   * about any key but one whose hash is known; and so are the hashes that are remembered, by hashes that differ from
   * process to process.
   * @throws EntrepotError `unavailable` while keys are not verifiable
   */
  recognise(raw: string): ApiKey | null {
    if (!this.#replica.isCurrent()) throw unverifiable()
    const remembered = this.#hashes.get(raw)
    const hash = remembered ?? hashKey(raw)
    const key = this.#replica.projection.keyByHash(hash)
    if (key === null || key.revokedAt !== null) {
      this.#hashes.delete(raw)
      return null
    }
    if (remembered === undefined) this.#remember(raw, hash)
    return key
  }

  /**
   * Whether revocations that are older than a minute are known here, whichever process made them. Reads the changelog
   * first where the latest reading is too old, as it is after the machine was asleep.
   */
  async areVerifiable(): Promise<boolean> {
    if (!this.#replica.isCurrent()) await this.#replica.catchUp().catch(() => {}) // the replica reports it
    return this.#replica.isCurrent()
  }

  #remember(raw: string, hash: string): void {
    if (this.#hashes.size >= MAX_REMEMBERED) this.#hashes.clear()
    this.#hashes.set(raw, hash)
  }

  /** Makes a key. `raw` is shown once and kept nowhere. */
  async mint(name: string, scope: KeyScope): Promise<{ key: ApiKey; raw: string }> {
    const raw = randomBytes(RAW_KEY_BYTES).toString('base64url')
    const key = await this.#store.addKey({ name, scope, hash: hashKey(raw) })
    await this.#replica.catchUp()
    return { key, raw }
  }

  /** Seeds the shared bootstrap key where there has never been a key. */
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

/** In one go, which takes half the time. */
const hashKey = (raw: string): string => hash('sha256', raw)

function unverifiable(): EntrepotError {
  return new EntrepotError(
    'unavailable',
    'API keys cannot be verified: the store has not answered for a minute, and the key could have been revoked since. ' +
      'Try again later; where reads need no key, read without one.',
    { headers: { 'Retry-After': '5' } },
  )
}
