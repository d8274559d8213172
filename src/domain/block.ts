import type { ListingIdentity } from './listing-identity.ts'
import type { Micros } from './timestamp.ts'
import { placeOf } from './url.ts'

/** What an operator leaves out of every answer, and refuses at the own Registry. */
export type Block = NewBlock & {
  id: number
  createdAt: Micros
  /** When it was undone, or its time was up; `null`: it holds. */
  endedAt: Micros | null
}

export type NewBlock = {
  subject: BlockSubject
  /** The only source that it applies to; `null`: every source, the own Registry included. */
  source: string | null
  reason: string
  /** Name of the operator's key. */
  by: string
  /** From here on it does not hold, by the store's clock; `null`: until it is undone. */
  until: Micros | null
}

export type BlockSubject =
  | { kind: 'publisher'; publisher: string }
  /** An http or https URL without query: also everything below its path. */
  | { kind: 'storefront'; url: string }
  /** A takedown. */
  | { kind: 'listing'; publisher: string; listingId: string }

type Copy = Pick<ListingIdentity, 'publisher' | 'aliases' | 'storefrontUrl'> & { listingId: string }

const NO_KEYS: readonly string[] = []

/** What blocks are about, looked up by what a copy says: each of many thousand copies is compared with all of them. */
export class BlockedSubjects {
  readonly size: number
  readonly #publishers = new Set<string>()
  /** As `subjectText`. */
  readonly #listings = new Set<string>()
  readonly #listingIds = new Set<string>()
  /** By origin, the paths with everything below them. */
  readonly #storefronts = new Map<string, string[]>()

  constructor(subjects: readonly BlockSubject[]) {
    this.size = subjects.length
    for (const subject of subjects) this.#add(subject)
  }

  /** By any key of the publisher. A copy whose publisher is not known may be of a blocked one. */
  has({ listingId, publisher, aliases = NO_KEYS, storefrontUrl }: Copy): boolean {
    if (this.size === 0) return false
    const isListed =
      publisher === null
        ? this.#publishers.size > 0 || this.#listingIds.has(listingId)
        : this.#hasKey(publisher, listingId) || aliases.some((key) => this.#hasKey(key, listingId))
    return isListed || this.hasStorefront(storefrontUrl)
  }

  /** Whether it is among them for no other reason than that its publisher is not known. */
  mayHave(copy: Copy): boolean {
    return copy.publisher === null && this.has(copy) && !this.hasStorefront(copy.storefrontUrl)
  }

  #hasKey(publisher: string, listingId: string): boolean {
    return this.#publishers.has(publisher) || this.#listings.has(`${publisher}/${listingId}`)
  }

  hasPublisher(publisher: string): boolean {
    return this.#publishers.has(publisher)
  }

  #add(subject: BlockSubject): void {
    switch (subject.kind) {
      case 'publisher':
        this.#publishers.add(subject.publisher)
        break
      case 'listing':
        this.#listings.add(subjectText(subject))
        this.#listingIds.add(subject.listingId)
        break
      case 'storefront': {
        const place = placeOf(subject.url)
        if (place === null) break
        const paths = this.#storefronts.get(place.origin) ?? []
        this.#storefronts.set(place.origin, [...paths, place.path])
      }
    }
  }

  /** By scheme, host and whole segments of the path, whatever their spelling. */
  hasStorefront(storefrontUrl: string | null): boolean {
    if (this.#storefronts.size === 0 || storefrontUrl === null) return false
    const place = placeOf(storefrontUrl)
    if (place === null) return false
    return this.#storefronts.get(place.origin)?.some((blocked) => place.path.startsWith(blocked)) === true
  }
}

const PUBLISHER = /^(?:0x[0-9a-f]{40}|ed25519:[\w-]{43})$/

/** `0x…`, `ed25519:…`, the URL of a storefront, or `PUBLISHER/LISTING_ID`; `null` for any other text. */
export function readSubject(text: string): BlockSubject | null {
  const slash = text.indexOf('/')
  const publisher = publisherIn(slash === -1 ? text : text.slice(0, slash))
  if (publisher !== null) {
    const listingId = text.slice(slash + 1)
    if (slash === -1) return { kind: 'publisher', publisher }
    return listingId === '' ? null : { kind: 'listing', publisher, listingId }
  }
  const url = URL.parse(text)
  const isStorefront = url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === ''
  return isStorefront && url.username === '' ? { kind: 'storefront', url: url.href } : null
}

/** An address in any case; a key of the signed line exactly. */
function publisherIn(text: string): string | null {
  const lower = /^0x/i.test(text) ? text.toLowerCase() : text
  return PUBLISHER.test(lower) ? lower : null
}

export function subjectText(subject: BlockSubject): string {
  if (subject.kind === 'publisher') return subject.publisher
  return subject.kind === 'storefront' ? subject.url : `${subject.publisher}/${subject.listingId}`
}
