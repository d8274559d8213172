import type { ApiKey } from '../../../../src/domain/api-key.ts'
import { type ListingRecord, NEW_LISTING_FIELDS } from '../../../../src/domain/listing.ts'
import {
  isActive,
  type Publisher,
  type PublisherIdentity,
  type Rotation,
  retired,
  rotated,
} from '../../../../src/domain/publisher.ts'
import {
  isWriteRequest,
  type NewKey,
  type PublishCommand,
  type PublishOutcome,
  type RecordedAnswer,
  type RemoveCommand,
  type RemoveOutcome,
  type Reservation,
  type RetireCommand,
  type RetireOutcome,
  type RotateCommand,
  type RotateOutcome,
  type SignedOperation,
  type UpdateCommand,
  type UpdateOutcome,
  type Use,
  type UsedSignature,
  type UseKey,
  type WriteRequest,
} from '../../../../src/store/commands.ts'
import { LEASE_MICROS, SIGNATURE_SHARED_MICROS } from '../../../../src/store/guard.ts'

/** The store's contract in the fewest words: every real store is compared with it. Time is a counter. */
export class Model {
  readonly publishers: Publisher[] = []
  readonly listings = new Map<string, ListingRecord>()
  readonly keys: ApiKey[] = []
  readonly #uses = new Map<string, { use: UsedSignature; answer: unknown; isTrue: () => boolean }>()
  readonly #first = new Map<string, Pick<PublishCommand, 'storefrontUrl' | 'keyId' | 'use'>>()
  readonly #requests = new Map<string, RequestRecord>()
  #time = 0

  publish(command: PublishCommand): PublishOutcome {
    const { identity, listingId, storefrontUrl, fields, status, maxListings, keyId, use } = command
    const isTrue = (at: number) => this.listings.get(listingId)?.updatedAt === at
    return this.#once('publish', listingId, use, isTrue, (reused): PublishOutcome => {
      const existing = this.listings.get(listingId)
      const signer = this.#publisherOf(identity)
      if (signer && !isActive(signer, identity, use.now)) return { outcome: 'retired' }
      if (existing && !this.#owns(identity, use, existing)) return { outcome: 'not_owner' }
      const first = isWriteRequest(use) ? undefined : this.#first.get(use.signature)
      const isMoved = first && storefrontUrl && storefrontUrl !== (first.storefrontUrl || null)
      const isLate = first && Math.abs(use.now - first.use.now) > SIGNATURE_SHARED_MICROS
      const isBoundToKey = first && first.keyId !== null && keyId !== null
      if (reused || isMoved || (isBoundToKey ? first.keyId !== keyId : isLate))
        return { outcome: 'signature_reused' }
      const count = [...this.listings.values()].filter((listing) => this.#owns(identity, use, listing)).length
      if (!existing && maxListings > 0 && count >= maxListings) return { outcome: 'too_many_listings' }
      const at = ++this.#time
      if (!first && !isWriteRequest(use)) this.#first.set(use.signature, { storefrontUrl, keyId, use })
      const publisherId = this.#upsert(identity, storefrontUrl, at).publisherId
      const receipt = {
        listingId,
        publisherId,
        status: status ?? existing?.status ?? 'open',
        createdAt: existing?.createdAt ?? at,
        updatedAt: at,
      }
      this.listings.set(listingId, { ...(existing ?? NEW_LISTING_FIELDS), ...fields, ...receipt })
      return { outcome: 'published', record: receipt }
    })
  }

  update({ identity, listingId, status, oracleAddress, use }: UpdateCommand): UpdateOutcome {
    const isTrue = (at: number) => this.listings.get(listingId)?.updatedAt === at
    return this.#once('update', listingId, use, isTrue, (reused): UpdateOutcome => {
      const existing = this.listings.get(listingId)
      if (!existing) return { outcome: 'not_found' }
      if (!this.#owns(identity, use, existing)) return { outcome: 'not_owner' }
      if (reused) return { outcome: 'signature_reused' }
      const record = { listingId, status: status ?? existing.status, updatedAt: ++this.#time }
      this.listings.set(listingId, {
        ...existing,
        ...record,
        oracleAddress: oracleAddress ?? existing.oracleAddress,
      })
      return { outcome: 'updated', record }
    })
  }

  remove({ identity, listingId, use }: RemoveCommand): RemoveOutcome {
    const isTrue = () => !this.listings.has(listingId)
    return this.#once('remove', listingId, use, isTrue, (reused): RemoveOutcome => {
      const existing = this.listings.get(listingId)
      if (!existing) return { outcome: 'not_found' }
      if (!this.#owns(identity, use, existing)) return { outcome: 'not_owner' }
      if (reused) return { outcome: 'signature_reused' }
      this.#time++
      this.listings.delete(listingId)
      return { outcome: 'removed' }
    })
  }

  reserve({ requestKey, hash, expiresAt, now }: WriteRequest): Reservation {
    const earlier = this.#requests.get(requestKey)
    const record = earlier ?? { hash, expiresAt, leasedUntil: 0, receipt: null, answer: null }
    if (record.hash !== hash || record.expiresAt <= now) return { outcome: 'changed_reuse' }
    this.#requests.set(requestKey, record)
    record.expiresAt = Math.max(record.expiresAt, expiresAt)
    if (record.answer !== null) return { outcome: 'answered', answer: record.answer }
    if (record.leasedUntil > now && record.leasedUntil <= now + LEASE_MICROS)
      return { outcome: 'in_progress' }
    record.leasedUntil = now + LEASE_MICROS
    return { outcome: 'reserved' }
  }

  settle({ requestKey }: WriteRequest, answer: RecordedAnswer | null): void {
    const record = this.#requests.get(requestKey)
    if (record === undefined || record.answer !== null) return
    record.answer = answer
    record.leasedUntil = 0
  }

  rotate({ publisherId, intent, use }: RotateCommand): RotateOutcome {
    const receipt = this.#requests.get(use.requestKey)?.receipt as Rotation | null | undefined
    if (receipt) return { outcome: 'recorded', rotation: receipt }
    const publisher = this.publishers[publisherId - 1]
    if (!publisher) return { outcome: 'publisher_not_found' }
    const result = rotated(publisher, intent, use.now)
    if (result.outcome !== 'changed') return result
    return this.#publisherOf(intent.replacement) ? { outcome: 'bound' } : this.#rebind(result, use)
  }

  retire({ publisherId, nonce, identity, use }: RetireCommand): RetireOutcome {
    const receipt = this.#requests.get(use.requestKey)?.receipt as Rotation | null | undefined
    if (receipt) return { outcome: 'recorded', rotation: receipt }
    const publisher = this.publishers[publisherId - 1]
    if (!publisher) return { outcome: 'rotation_not_found' }
    const result = retired(publisher, { nonce, identity }, use.now)
    return result.outcome === 'changed' ? this.#rebind(result, use) : result
  }

  #rebind(
    { publisher, rotation }: { publisher: Publisher; rotation: Rotation },
    { requestKey }: WriteRequest,
  ) {
    this.publishers[publisher.publisherId - 1] = { ...publisher, updatedAt: ++this.#time }
    const record = this.#requests.get(requestKey)
    if (record) record.receipt = rotation
    return { outcome: 'recorded', rotation } as const
  }

  addKey(key: NewKey): ApiKey {
    const added = { view: null, ...key, id: this.keys.length + 1, createdAt: ++this.#time, revokedAt: null }
    this.keys.push(added)
    return added
  }

  seedKey(key: NewKey): ApiKey | null {
    return this.keys.length === 0 ? this.addKey(key) : null
  }

  replaceKey(id: number, endsAt: number, key: NewKey): ApiKey | null {
    const replaced = this.keys[id - 1]
    if (!replaced || replaced.revokedAt !== null) return null
    this.keys[id - 1] = { ...replaced, expiresAt: Math.min(replaced.expiresAt ?? endsAt, endsAt) }
    this.#time++
    return this.addKey(key)
  }

  revokeKey(id: number): ApiKey | null {
    const key = this.keys[id - 1]
    if (!key) return null
    if (key.revokedAt === null) this.keys[id - 1] = { ...key, revokedAt: ++this.#time }
    return this.keys[id - 1]!
  }

  /** In the order of `Picture.sorted`. */
  sorted() {
    const listings = [...this.listings.values()].sort((a, b) => a.createdAt - b.createdAt)
    // None of the commands blocks anything.
    return { publishers: this.publishers, listings, keys: this.keys, blocks: [] }
  }

  hasUse({ operation, listingId, signature }: UseKey): boolean {
    return this.#uses.has(JSON.stringify([operation, listingId, signature]))
  }

  /** `isTrue`: whether the answer that was given at that time still is. */
  #once<T extends { outcome: string }>(
    operation: SignedOperation,
    listingId: string,
    use: Use,
    isTrue: (at: number) => boolean,
    apply: (reused: boolean) => T,
  ): T {
    if (isWriteRequest(use)) {
      const record = this.#requests.get(use.requestKey)
      if (record?.receipt) return record.receipt as T
      const answer = apply(false)
      if (record && CHANGES.includes(answer.outcome)) record.receipt = answer
      return answer
    }
    const name = JSON.stringify([operation, listingId, use.signature])
    const earlier = this.#uses.get(name)
    if (earlier?.use.body === use.body)
      return earlier.isTrue() ? (earlier.answer as T) : ({ outcome: 'signature_reused' } as unknown as T)
    const answer = apply(earlier !== undefined)
    const at = this.#time
    if (CHANGES.includes(answer.outcome)) this.#uses.set(name, { use, answer, isTrue: () => isTrue(at) })
    return answer
  }

  #owns(identity: PublisherIdentity, { now }: Use, { publisherId }: ListingRecord): boolean {
    return isActive(this.publishers[publisherId - 1]!, identity, now)
  }

  /** Whose identity it is or was. */
  #publisherOf(identity: PublisherIdentity): Publisher | undefined {
    const isOf = (one: PublisherIdentity) => JSON.stringify(one, NAMES) === JSON.stringify(identity, NAMES)
    return this.publishers.find((one) => isOf(one) || one.rotations.some(({ current }) => isOf(current)))
  }

  #upsert(identity: PublisherIdentity, url: string | null, at: number): Publisher {
    const existing = this.#publisherOf(identity)
    const { scheme, identifier } = identity
    const publisherId = existing?.publisherId ?? this.publishers.length + 1
    const fresh = { publisherId, scheme, identifier, createdAt: at, rotations: [] }
    if (!existing || (url && url !== existing.storefrontUrl))
      this.publishers[publisherId - 1] = { ...(existing ?? fresh), storefrontUrl: url, updatedAt: at }
    return this.publishers[publisherId - 1]!
  }
}

type RequestRecord = Pick<WriteRequest, 'hash' | 'expiresAt'> & {
  leasedUntil: number
  receipt: unknown
  answer: RecordedAnswer | null
}

const CHANGES = ['published', 'updated', 'removed']
const NAMES = ['scheme', 'identifier']
