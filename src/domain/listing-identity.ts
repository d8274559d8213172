/** What tells two listings of one `listing_id` apart. */
export type Identity = {
  /** Signing address, lower-cased, where it is known. */
  publisher: string | null
  storefrontUrl: string | null
}

/** For two items with one `listing_id`: their publishers decide, or their storefronts where one is not known. */
export function isSameListing(a: Identity, b: Identity): boolean {
  return a.publisher !== null && b.publisher !== null
    ? a.publisher === b.publisher
    : a.storefrontUrl !== null && a.storefrontUrl === b.storefrontUrl
}

/** The listings of several pages, to drop those that a later page repeats, whichever Registry's copy that shows. */
export class SeenListings {
  readonly #byId = new Map<string, Identity[]>()

  /** @returns whether it is new */
  add(listingId: string, identity: Identity): boolean {
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
