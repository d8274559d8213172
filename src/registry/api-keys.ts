import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { ApiKey } from '../domain/api-key.ts'
import { EntrepotError } from '../errors.ts'
import type { Store } from '../store/store.ts'
import { MAX_READ_AGE_MS, type Replica } from './replica.ts'

/** 256 bits, 43 characters of `A–Z a–z 0–9 - _`. */
const RAW_KEY_BYTES = 32

const MAX_CACHED_HASHES = 1000

/** Only hashes of keys are stored. */
export class ApiKeys {
  readonly #store: Store
  readonly #replica: Replica
  /** Hash by raw key, of keys that are not revoked: saves hashing on every request. */
  readonly #hashes = new Map<string, string>()

  /** How long a key is good after the store last answered, in seconds. */
  readonly #trustSeconds: number

  constructor(store: Store, replica: Replica, { trustSeconds }: { trustSeconds: number }) {
    this.#store = store
    this.#replica = replica
    this.#trustSeconds = trustSeconds
  }

  /**
   * Also a key that has expired. Looks keys up by hash (a `Map` seeds its own in each process), so timing reveals no key.
   * @param options `mayBeRevoked`: a key that may have been revoked since the store went away is recognised, too
   * @throws EntrepotError `unavailable` while keys are not verifiable
   */
  recognise(raw: string, { mayBeRevoked } = { mayBeRevoked: false }): ApiKey | null {
    const remembered = this.#hashes.get(raw)
    const hash = remembered ?? hashKey(raw)
    const key = this.#replica.projection.keyByHash(hash)
    if (key === null || key.revokedAt !== null) {
      this.#hashes.delete(raw)
      // It may have been made since.
      if (key === null && !mayBeRevoked && !this.#replica.isCurrent()) throw unknownYet()
      return null
    }
    if (!mayBeRevoked && !this.isVerifiable()) throw unverifiable(this.#trustSeconds)
    if (remembered === undefined) this.#cacheHash(raw, hash)
    return key
  }

  /** Whether a key that was good when the store last answered is accepted. */
  isVerifiable(): boolean {
    return this.#replica.isCurrent(this.#trustSeconds * 1000)
  }

  /** The same; catches up first where it is not. */
  async areVerifiable(): Promise<boolean> {
    if (!this.isVerifiable()) await this.#replica.catchUp().catch(() => {}) // the replica reports it
    return this.isVerifiable()
  }

  #cacheHash(raw: string, hash: string): void {
    if (this.#hashes.size >= MAX_CACHED_HASHES) this.#hashes.clear()
    this.#hashes.set(raw, hash)
  }

  /** `raw` is shown once and stored nowhere. */
  async mint(
    fields: Pick<ApiKey, 'name' | 'scope' | 'expiresAt' | 'view'>,
  ): Promise<{ key: ApiKey; raw: string }> {
    const { raw, hash } = createKey()
    const key = await this.#store.addKey({ ...fields, hash })
    await this.#replica.catchUp()
    return { key, raw }
  }

  /** Only if the store never had a key. */
  async seed(raw: string): Promise<void> {
    await this.#store.seedKey({ name: 'bootstrap', scope: 'write', hash: hashKey(raw), expiresAt: null })
    await this.#replica.catchUp()
  }

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

/** A new key, and what the store has of it. */
export function createKey(): { raw: string; hash: string } {
  const raw = randomBytes(RAW_KEY_BYTES).toString('base64url')
  return { raw, hash: hashKey(raw) }
}

/** Compares secrets of any length in constant time. */
export const sameSecret = (a: string, b: string): boolean =>
  timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'))

const hashKey = (raw: string): string => hash('sha256', raw)

function unverifiable(seconds: number): EntrepotError {
  return away(
    `API keys cannot be verified: the store has not answered for ${seconds} s, and the key could have been revoked since.`,
  )
}

function unknownYet(): EntrepotError {
  return away(
    `This API key cannot be verified: it is not known here, and the store, where it could have been made since, has not answered for ${MAX_READ_AGE_MS / 1000} s.`,
  )
}

const away = (why: string): EntrepotError =>
  new EntrepotError('unavailable', `${why} Try again later; where reads need no key, read without one.`, {
    headers: { 'Retry-After': '5' },
  })
