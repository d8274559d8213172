import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { ApiKey } from '../domain/api-key.ts'
import type { Micros } from '../domain/timestamp.ts'
import { EntrepotError } from '../errors.ts'
import type { NewKey } from '../store/commands.ts'
import type { Store } from '../store/store.ts'
import { MAX_READ_AGE_MS, type Replica } from './replica.ts'

/** 256 bits, 43 characters of `A–Z a–z 0–9 - _`. */
const RAW_KEY_BYTES = 32

/** Names the key of the settings. */
const BOOTSTRAP = 'bootstrap'

type KeySettings = {
  trustSeconds: number
  /** Keys of a file, by hash. */
  declared: readonly ApiKey[]
}

/** Only hashes of keys are stored. A key that the store has revoked stays revoked, whatever the file says. */
export class ApiKeys {
  readonly #store: Store
  readonly #replica: Replica
  /** Of the file, by hash. */
  readonly #declared: ReadonlyMap<string, ApiKey>
  /** How long a key is good after the store last answered, in seconds. */
  readonly #trustSeconds: number

  constructor(store: Store, replica: Replica, { trustSeconds, declared }: KeySettings) {
    this.#store = store
    this.#replica = replica
    this.#trustSeconds = trustSeconds
    this.#declared = new Map(declared.map((key) => [key.hash, key]))
  }

  /**
   * Also a key that has expired. Looks keys up by hash (a `Map` seeds its own in each process), so timing reveals no key.
   * @param options `mayBeRevoked`: a key that may have been revoked since the store went away is recognised, too
   * @throws EntrepotError `unavailable` while keys are not verifiable
   */
  recognise(raw: string, { mayBeRevoked } = { mayBeRevoked: false }): ApiKey | null {
    const hash = hashKey(raw)
    const key = this.#replica.projection.keyByHash(hash)
    const declared = this.#declared.get(hash)
    if (declared !== undefined && (key === null || key.revokedAt === null)) return declared
    if (key === null || key.revokedAt !== null) {
      // It may have been made since.
      if (key === null && !mayBeRevoked && !this.#replica.isCurrent()) throw unknownYet()
      return null
    }
    if (!mayBeRevoked && !this.isVerifiable()) throw unverifiable(this.#trustSeconds)
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

  /** `raw` is shown once and stored nowhere. */
  async mint(
    fields: Pick<ApiKey, 'name' | 'scope' | 'expiresAt' | 'view'>,
  ): Promise<{ key: ApiKey; raw: string }> {
    const { raw, hash } = createKey()
    const key = await this.#store.addKey({ ...fields, hash })
    await this.#replica.catchUp()
    return { key, raw }
  }

  /**
   * Adds the key of the settings, unless the store has ever had that one, and revokes those that it replaces. One that is
   * revoked stays so.
   * @param now in microseconds
   */
  async seed(raw: string, now: Micros): Promise<{ key: ApiKey | null; isNew: boolean; revoked: ApiKey[] }> {
    const fields = { name: BOOTSTRAP, scope: 'write', hash: hashKey(raw), expiresAt: null } as const
    const stored = this.#replica.projection.keys()
    const known = stored.find(({ hash }) => hash === fields.hash)
    const revoked = stored.filter((key) => key.name === BOOTSTRAP && key.revokedAt === null && key !== known)
    const [latest] = revoked
    const added =
      known ?? (await (latest ? this.#store.replaceKey(latest.id, now, fields) : this.#addFirst(fields)))
    for (const { id } of revoked) await this.#store.revokeKey(id)
    await this.#replica.catchUp()
    return { key: added, isNew: known === undefined, revoked }
  }

  /** Of several replicas that open an empty store, one adds it. */
  #addFirst(fields: NewKey): Promise<ApiKey | null> {
    return this.#replica.projection.keys().length === 0
      ? this.#store.seedKey(fields)
      : this.#store.addKey(fields)
  }

  /** Newest first, those of the file at the end. */
  list(): ApiKey[] {
    return [...this.#replica.projection.keys(), ...this.#declared.values()]
  }

  /** Whether it is a key of the file, which alone ends it. */
  isDeclared({ hash, id }: Pick<ApiKey, 'hash' | 'id'>): boolean {
    return this.#declared.get(hash)?.id === id
  }

  /**
   * Mints a key like the only active one of that name, which expires after the overlap.
   * @param now in microseconds
   * @throws EntrepotError `not_found`, or `conflict` where several are active or a file declares it
   */
  async rotate(
    name: string,
    { overlapSeconds, now }: { overlapSeconds: number; now: Micros },
  ): Promise<{ key: ApiKey; raw: string; replaced: ApiKey }> {
    const replaced = this.active(name, now)
    const { id, scope, view, createdAt, expiresAt } = replaced
    const { raw, hash } = createKey()
    const lifetime = expiresAt === null ? null : expiresAt - createdAt
    const key = await this.#store.replaceKey(id, now + overlapSeconds * 1_000_000, {
      ...{ name, scope, view, hash },
      expiresAt: lifetime === null ? null : now + lifetime,
    })
    await this.#replica.catchUp()
    if (key === null) throw noActiveKey(name)
    const ended = this.#replica.projection.keyByHash(replaced.hash) ?? replaced
    return { key, raw, replaced: ended }
  }

  /** The only one of that name that is good now. @throws as `rotate` */
  active(name: string, now: Micros): ApiKey {
    const keys = this.list().filter(
      (key) => key.name === name && key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now),
    )
    const [key] = keys
    if (key === undefined) throw noActiveKey(name)
    if (keys.length > 1) {
      const ids = keys.map(({ id }) => id).join(' and ')
      throw new EntrepotError(
        'conflict',
        `${keys.length} active keys are named ${JSON.stringify(name)}, ${ids}: revoke all but one`,
      )
    }
    if (this.isDeclared(key)) throw declaredKey()
    return key
  }

  /** Idempotent; `false` for an unknown id. @throws EntrepotError `conflict` for a key of the file */
  async revoke(id: number): Promise<boolean> {
    if ([...this.#declared.values()].some((key) => key.id === id)) throw declaredKey()
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

const noActiveKey = (name: string): EntrepotError =>
  new EntrepotError('not_found', `No active key is named ${JSON.stringify(name)}: see GET /admin/api-keys`)

const declaredKey = (): EntrepotError =>
  new EntrepotError(
    'conflict',
    'The file that [keys] names declares this key: change it there, and reload every replica',
  )

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
