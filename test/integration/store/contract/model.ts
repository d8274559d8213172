import type { ApiKey } from '../../../../src/domain/api-key.ts'
import { type ListingRecord, NEW_LISTING_FIELDS, type Publisher } from '../../../../src/domain/listing.ts'
import {
  type NewKey,
  type PublishCommand,
  type PublisherIdentity,
  type PublishOutcome,
  type RemoveCommand,
  type RemoveOutcome,
  SIGNATURE_SHARED_MICROS,
  type SignedOperation,
  type UpdateCommand,
  type UpdateOutcome,
  type UsedSignature,
  type UseKey,
} from '../../../../src/store/store.ts'

/** The store's contract in the fewest words: every real store is compared with it. Time is a counter. */
export class Model {
  readonly publishers: Publisher[] = []
  readonly listings = new Map<string, ListingRecord>()
  readonly keys: ApiKey[] = []
  readonly #uses = new Map<string, { use: UsedSignature; answer: unknown; isTrue: () => boolean }>()
  readonly #first = new Map<string, Pick<PublishCommand, 'storefrontUrl' | 'keyId' | 'use'>>()
  readonly #spent = new Set<string>()
  #time = 0

  publish(command: PublishCommand): PublishOutcome {
    const { identity, listingId, storefrontUrl, fields, status, maxListings, keyId, use } = command
    const isTrue = (at: number) => this.listings.get(listingId)?.updatedAt === at
    return this.#once('publish', listingId, use, isTrue, (reused): PublishOutcome => {
      const existing = this.listings.get(listingId)
      if (existing && !this.#owns(identity, existing)) return { outcome: 'not_owner' }
      const first = this.#first.get(use.signature)
      const isMoved = first && storefrontUrl && storefrontUrl !== (first.storefrontUrl || null)
      const isLate = first && Math.abs(use.now - first.use.now) > SIGNATURE_SHARED_MICROS
      const isBoundToKey = first && first.keyId !== null && keyId !== null
      if (reused || isMoved || (isBoundToKey ? first.keyId !== keyId : isLate))
        return { outcome: 'signature_reused' }
      const count = [...this.listings.values()].filter((listing) => this.#owns(identity, listing)).length
      if (!existing && maxListings > 0 && count >= maxListings) return { outcome: 'too_many_listings' }
      const at = ++this.#time
      if (!first) this.#first.set(use.signature, { storefrontUrl, keyId, use })
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
      if (!this.#owns(identity, existing)) return { outcome: 'not_owner' }
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
      if (!this.#owns(identity, existing)) return { outcome: 'not_owner' }
      if (reused) return { outcome: 'signature_reused' }
      this.#time++
      this.listings.delete(listingId)
      return { outcome: 'removed' }
    })
  }

  addKey(key: NewKey): ApiKey {
    const added = { ...key, id: this.keys.length + 1, createdAt: ++this.#time, revokedAt: null }
    this.keys.push(added)
    return added
  }

  seedKey(key: NewKey): ApiKey | null {
    return this.keys.length === 0 ? this.addKey(key) : null
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
    return { publishers: this.publishers, listings, keys: this.keys }
  }

  hasUse({ operation, listingId, signature }: UseKey): boolean {
    return this.#uses.has(JSON.stringify([operation, listingId, signature]))
  }

  /** `isTrue`: whether the answer that was given at that time still is. */
  #once<T extends { outcome: string }>(
    operation: SignedOperation,
    listingId: string,
    use: UsedSignature,
    isTrue: (at: number) => boolean,
    apply: (reused: boolean) => T,
  ): T {
    this.#forgetExpired(use)
    const name = JSON.stringify([operation, listingId, use.signature])
    const earlier = this.#uses.get(name)
    if (earlier?.use.body === use.body)
      return earlier.isTrue() ? (earlier.answer as T) : ({ outcome: 'signature_reused' } as unknown as T)
    const answer = apply(earlier !== undefined || this.#spent.has(use.signature))
    const at = this.#time
    if (['published', 'updated', 'removed'].includes(answer.outcome))
      this.#uses.set(name, { use, answer, isTrue: () => isTrue(at) })
    return answer
  }

  #forgetExpired({ now }: UsedSignature): void {
    for (const [name, { use }] of this.#uses) {
      if (use.expiresAt > now) continue
      this.#uses.delete(name)
      this.#first.delete(use.signature)
      this.#spent.add(use.signature)
    }
  }

  #owns(identity: PublisherIdentity, { publisherId }: ListingRecord): boolean {
    const owner = this.publishers[publisherId - 1]!
    return owner.scheme === identity.scheme && owner.identifier === identity.identifier
  }

  #upsert({ scheme, identifier }: PublisherIdentity, url: string | null, at: number): Publisher {
    const found = this.publishers.findIndex((one) => one.scheme === scheme && one.identifier === identifier)
    const index = found === -1 ? this.publishers.length : found
    const existing = this.publishers[index]
    const fresh = { publisherId: index + 1, scheme, identifier, createdAt: at }
    if (!existing || (url && url !== existing.storefrontUrl))
      this.publishers[index] = { ...(existing ?? fresh), storefrontUrl: url, updatedAt: at }
    return this.publishers[index]!
  }
}
