export type ListingIdentity = {
  /** Signing address, lower-cased, where it is known. */
  publisher: string | null
  storefrontUrl: string | null
}

/**
 * Equal for copies of one listing among those of one `listing_id`: the address, or the storefront where the address
 * is unknown. `null` where neither is known: such a copy is a listing of its own.
 */
export function identityKey({ publisher, storefrontUrl }: ListingIdentity): string | null {
  return publisher ?? (storefrontUrl === null ? null : `at ${storefrontUrl}`)
}

/** For items with one `listing_id`. A known and an unknown address are two listings: either could be a forgery. */
export function isSameListing(a: ListingIdentity, b: ListingIdentity): boolean {
  const identity = identityKey(a)
  return identity !== null && identity === identityKey(b)
}

/** Drops listings that come again, whichever Registry's copy it is. */
export class SeenListings {
  readonly #keys = new Set<string>()

  /** @returns whether it is new */
  add(listingId: string, identity: ListingIdentity): boolean {
    const key = identityKey(identity)
    if (key === null) return true
    const { size } = this.#keys
    return this.#keys.add(`${listingId}\n${key}`).size > size
  }
}

/**
 * Names a listing in `GET /changes`: its publisher, or its storefront where the address is unknown, a slash and its id.
 * @param registry of the copy, which stands for a publisher of which nothing is known
 */
export function listingKey(listingId: string, identity: ListingIdentity, registry: string): string {
  const publisher = identity.publisher ?? identity.storefrontUrl ?? `?${registry}`
  return `${publisher}/${encodeURIComponent(listingId.toWellFormed())}`
}
