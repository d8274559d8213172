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
  readonly #byId = new Map<string, ListingIdentity[]>()

  add(listingId: string, identity: ListingIdentity): boolean {
    const known = this.#byId.get(listingId)
    if (known === undefined) {
      this.#byId.set(listingId, [identity])
      return true
    }
    const isNew = !known.some((other) => isSameListing(other, identity))
    known.push(identity)
    return isNew
  }
}
