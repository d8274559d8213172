import { type Clock, raceAbort } from '../../domain/clock.ts'
import { identityKey, isSameListing } from '../../domain/listing-identity.ts'
import type { CopyQuery, LookUpCopies, SoughtListing } from '../../domain/source/held.ts'
import type { Item, Range } from '../../domain/source/reading.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { UpstreamKind } from '../../domain/source/upstream.ts'
import type { PageItem } from '../page/listing-page.ts'
import type { PublisherDirectory } from '../publisher-directory.ts'
import type { RunCache, ServedRun } from '../reading/run-cache.ts'
import { UNFILTERED, type UpstreamQuery } from '../upstream-query.ts'
import type { SellerSearch } from './seller-search.ts'

/** Most listings that one call looks up by id, and most publishers whose listings it reads. */
const MAX_IDS = 50
const MAX_PUBLISHERS = 50
/** Ids of a source that may be looked up at once, and how many more each second: readers choose how many there are. */
const MAX_SAVED_IDS = 2000
const IDS_PER_SECOND = 50

/** One page of 200: one more listing shows where a tie ends. */
const PUBLISHERS_LISTINGS: Range = { after: null, offsetHint: 0, count: 199 }
/** That of `GET /listings/{id}`, which shares the request. */
const ONE_LISTING: Range = { after: null, offsetHint: 0, count: 50 }

type CopyLookupOptions = {
  kind: UpstreamKind
  runs: Pick<RunCache, 'read' | 'fresh'>
  publishers: PublisherDirectory
  sellers: SellerSearch
  /** @throws SourceError */
  checkSchema: () => Promise<void>
  clock: Clock
}

/** `undefined`: it could not be looked up. */
type Copy = Item | null | undefined
type Call = { query: CopyQuery; signal: AbortSignal; idsLeft: number }

const NOT_ASKED = Promise.resolve(undefined)

/**
 * Looks copies up in a source that is too large to be read whole: the listings of publishers that it knows, then single
 * ids. Requests go through the run cache, and go on for other callers when a caller leaves.
 */
export class CopyLookup {
  readonly #options: CopyLookupOptions
  #savedIds = MAX_SAVED_IDS
  #savedAt: number

  constructor(options: CopyLookupOptions) {
    this.#options = options
    this.#savedAt = options.clock.monotonic()
  }

  readonly lookUp: LookUpCopies = async (listings, query, signal) => {
    const call: Call = { query, signal, idsLeft: MAX_IDS }
    const hasSchema = await unlessFailed(signal, () => this.#options.checkSchema().then(() => true))
    if (hasSchema !== true) return listings.map(() => undefined)
    const runs = new Map<string, Promise<ServedRun | null | undefined>>()
    const copies = new Map<string, Promise<Copy>>()
    for (const one of listings) {
      const { publisher } = one
      if (copies.has(keyOf(one))) continue
      if (publisher !== null && !runs.has(publisher))
        runs.set(publisher, runs.size < MAX_PUBLISHERS ? this.#publishersRun(publisher, call) : NOT_ASKED)
      copies.set(keyOf(one), this.#copyOf(one, publisher === null ? null : runs.get(publisher)!, call))
    }
    return Promise.all(listings.map((one) => copies.get(keyOf(one))))
  }

  /** `null` where the source does not know the publisher, `undefined` where it could not be asked. */
  #publishersRun(publisher: string, { query, signal }: Call): Promise<ServedRun | null | undefined> {
    const { kind, runs, sellers } = this.#options
    return unlessFailed(signal, async () => {
      if (kind === 'registry' && !(await sellers.has(publisher, query.caching))) return null
      signal.throwIfAborted()
      return runs.read({ ...questionOf(query), status: query.status, publisher }, PUBLISHERS_LISTINGS, signal)
    })
  }

  /** @param run of its publisher, where that is known */
  async #copyOf(
    sought: SoughtListing,
    run: Promise<ServedRun | null | undefined> | null,
    call: Call,
  ): Promise<Copy> {
    // Without an address and a storefront it is a listing of its own.
    if (identityKey(sought) === null) return null
    if (run === null) return this.#byId(sought, call)
    const served = await run
    if (served === null || served === undefined) return served
    const { items, isComplete } = served.run
    const sameId = items.filter(({ listingId, isMatch }) => isMatch && listingId === sought.listingId)
    if (sameId.length === 0) return isComplete ? null : this.#byId(sought, call)
    return this.#sameListing(sameId, sought, call)
  }

  #byId(sought: SoughtListing, call: Call): Promise<Copy> {
    const { query, signal } = call
    const { runs } = this.#options
    const question = { ...questionOf(query), listingId: sought.listingId }
    return unlessFailed(signal, async () => {
      const cached = runs.fresh(question, () => true)
      if (cached === null && !this.#mayAsk(call)) return undefined
      const { run } = cached ?? (await runs.read(question, ONE_LISTING, signal))
      const items = run.items.filter(({ status }) => query.status === null || status === query.status)
      const copy = await this.#sameListing(items, sought, call)
      return copy === null && run.missing !== undefined ? undefined : copy
    })
  }

  /** Of items with its id. One whose publisher is not found yet may be any listing. */
  #sameListing(items: readonly PageItem[], sought: SoughtListing, { signal }: Call): Promise<Copy> {
    return unlessFailed(signal, async () => {
      // A gateway names the publishers of its items itself.
      const unnamed = items.filter(({ origin }) => origin === undefined)
      const isAttributed = await this.#options.publishers.attribute(unnamed)
      if (!isAttributed && items.some(({ publisher }) => publisher === null)) return undefined
      return items.find((item) => isSameListing(item, sought)) ?? null
    })
  }

  #mayAsk(call: Call): boolean {
    const now = this.#options.clock.monotonic()
    const seconds = (now - this.#savedAt) / 1000
    this.#savedIds = Math.min(MAX_SAVED_IDS, this.#savedIds + seconds * IDS_PER_SECOND)
    this.#savedAt = now
    if (call.idsLeft === 0 || this.#savedIds < 1) return false
    call.idsLeft--
    this.#savedIds--
    return true
  }
}

function questionOf({ via, caching, trace }: CopyQuery): UpstreamQuery {
  return { ...UNFILTERED, ...(via && { via }), caching, trace }
}

function keyOf(listing: SoughtListing): string {
  return `${listing.listingId}\n${identityKey(listing)}`
}

/** `undefined` where it fails, or has not ended when the signal aborts. */
async function unlessFailed<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T | undefined> {
  if (signal.aborted) return undefined
  try {
    return await raceAbort(work(), signal)
  } catch (error) {
    if (error instanceof SourceError || signal.aborted) return undefined
    throw error
  }
}
