export type ListingIdentity = {
  /** Signing address, lower-cased, where it is known. */
  publisher: string | null
  storefrontUrl: string | null
}

/** For items with one `listing_id`: compares publishers, or storefronts where a publisher is unknown. */
export function isSameListing(a: ListingIdentity, b: ListingIdentity): boolean {
  return a.publisher !== null && b.publisher !== null
    ? a.publisher === b.publisher
    : a.storefrontUrl !== null && a.storefrontUrl === b.storefrontUrl
}

/** Drops listings that a later page repeats, whichever Registry's copy it shows. */
export class SeenListings {
  readonly #byId = new Map<string, readonly ListingIdentity[]>()
  /** One list for all listings of a storefront: a stream has very many listings. */
  readonly #lists = new Map<string, readonly [ListingIdentity]>()

  add(listingId: string, identity: ListingIdentity): boolean {
    const own = this.#listOf(identity)
    const known = this.#byId.get(listingId)
    if (known === undefined) {
      this.#byId.set(listingId, own)
      return true
    }
    const isNew = !known.some((other) => isSameListing(other, identity))
    if (!known.includes(own[0])) this.#byId.set(listingId, [...known, ...own])
    return isNew
  }

  #listOf({ publisher, storefrontUrl }: ListingIdentity): readonly [ListingIdentity] {
    const name = JSON.stringify([publisher, storefrontUrl])
    const known = this.#lists.get(name)
    if (known !== undefined) return known
    const list = [{ publisher, storefrontUrl }] as const
    this.#lists.set(name, list)
    return list
  }
}
