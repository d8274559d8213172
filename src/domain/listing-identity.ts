export type ListingIdentity = {
  /** Signing address, lower-cased, where it is known. */
  publisher: string | null
  /** Its other keys, by which it is found too: the first one that it ever had comes first. Absent: there are none. */
  aliases?: readonly string[] | undefined
  storefrontUrl: string | null
}

/**
 * Equal for listings of one seller, and so for copies of one listing among those of one `listing_id`: the address, or the
 * storefront where the address is unknown. `null` where neither is known: such a copy is a listing of its own.
 */
export function identityKey({ publisher, storefrontUrl }: ListingIdentity): string | null {
  return publisher ?? (storefrontUrl === null ? null : `at ${storefrontUrl}`)
}

/** Whether the publisher has that key, or had it. */
export function hasKey(
  { publisher, aliases }: Pick<ListingIdentity, 'publisher' | 'aliases'>,
  key: string,
): boolean {
  return publisher === key || aliases?.includes(key) === true
}

/** For items with one `listing_id`. A known and an unknown address are two listings: either could be a forgery. */
export function isSameListing(a: ListingIdentity, b: ListingIdentity): boolean {
  const seller = identityKey(a)
  return seller !== null && seller === identityKey(b)
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
