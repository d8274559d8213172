import type { SizesOf } from '../domain/price/price-key.ts'
import { type HiddenRows, type ListingQuery, NO_FILTER, type StandingFilter } from '../domain/query.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import type { Item } from '../domain/source/reading.ts'
import { matchesAll } from '../filter-spec/evaluate.ts'
import { criteriaIn } from '../filter-spec/filter.ts'
import { documentOf } from '../listing-index/document-reader.ts'
import type { RankedCopy } from './authority.ts'
import { CopiesOfId } from './copies-of-id.ts'
import { type DecidingView, type Holdings, heldCopies } from './holdings.ts'
import { type KnownPublisher, publisherInBetter } from './known-publisher.ts'

export type Copy = RankedCopy & { item: Item }

/** About a copy that no better source is known to have. */
export type Verdict = KnownPublisher & {
  /** Copies of the listing in worse sources, by rank. */
  otherCopies: readonly Copy[]
  isConflict: boolean
  /** Better sources that may have the listing, by rank. */
  unchecked: readonly string[]
}

/** What is known of a source: what it holds, nothing, or that the query skips it, so that it decides nothing. */
type Knowledge = 'held' | 'unknown' | 'skipped'

/** Copies of one id that are compared again for each of them. */
const FEW = 16

const NO_COPIES: readonly Copy[] = []
const NO_NAMES: readonly string[] = []

type DecidersOptions = {
  /** By rank. */
  sources: readonly NamedSource[]
  query: ListingQuery
  holdings: Holdings
}

/** The rule of `authority.ts` over the sources of one query. */
export class Deciders {
  readonly #sources: readonly NamedSource[]
  readonly #query: ListingQuery
  readonly #holdings: Holdings
  readonly #known: readonly Knowledge[]
  readonly #view: DecidingView
  /** By rank. All ranges of a source have one object, since a source caches its scan by that object. */
  readonly #queries: readonly ListingQuery[]
  /** Ids with many copies, as of `#ofVersion`: all listings of a gateway may have one id. */
  readonly #byId = new Map<string, CopiesOfId<Copy>>()
  #ofVersion = 0

  constructor({ sources, query, holdings }: DecidersOptions) {
    this.#sources = sources
    this.#query = query
    this.#holdings = holdings
    this.#known = sources.map((source) => knowledgeOf(source, query))
    this.#view = decidingView(query.standing)
    this.#queries = this.#withoutHidden()
  }

  /** What the source of that rank is asked: without the rows that better ones hide. */
  queryOf(rank: number): ListingQuery {
    return this.#queries[rank]!
  }

  /** Whether a better source may have listings that are not known here. */
  isUnknown(rank: number): boolean {
    return this.#known.some((_, n) => n < rank && this.#mayHaveMore(n))
  }

  /** `null` where a better source is known to have the listing. */
  judge(item: Item, rank: number): Verdict | null {
    const copies = this.#holdings.isShared(item.listingId) ? this.#copiesOf(item.listingId) : null
    const decider = copies?.deciderOf(item)
    if (decider !== undefined && decider.rank < rank) return null
    return {
      ...publisherInBetter(this.#sources, { item, rank }, this.#query.standing, this.#isWhole),
      otherCopies: copies?.openOthersOf(item, rank) ?? NO_COPIES,
      isConflict: copies?.hasOther(item, rank) ?? false,
      unchecked: this.#uncheckedFor(rank),
    }
  }

  readonly #isWhole = (rank: number): boolean => this.#known[rank] === 'held' && !this.#mayHaveMore(rank)

  #uncheckedFor(rank: number): readonly string[] {
    let names = NO_NAMES
    for (let n = 0; n < rank; n++) if (this.#mayHaveMore(n)) names = [...names, this.#sources[n]!.name]
    return names
  }

  #mayHaveMore(rank: number): boolean {
    const known = this.#known[rank]
    return known === 'unknown' || (known === 'held' && this.#sources[rank]!.held.coverage() !== 'whole')
  }

  #copiesOf(listingId: string): CopiesOfId<Copy> {
    const { version } = this.#holdings
    if (this.#ofVersion !== version) this.#byId.clear()
    this.#ofVersion = version
    const before = this.#byId.get(listingId)
    if (before !== undefined) return before
    const copies = this.#sources.flatMap((source, rank) =>
      this.#known[rank] === 'held' ? heldCopies(source, rank, listingId) : NO_COPIES,
    )
    const isInView = ({ item, rank }: Copy): boolean => this.#view.has(item, this.#sources[rank]!.name)
    const added = new CopiesOfId(copies, this.#query.status, isInView)
    if (copies.length > FEW) this.#byId.set(listingId, added)
    return added
  }

  #withoutHidden(): readonly ListingQuery[] {
    const held = this.#sources.filter((_, rank) => this.#known[rank] === 'held')
    const rows = this.#holdings.hiddenRows(held, this.#view, this.#query.status)
    const some = (all: readonly (HiddenRows | undefined)[]) =>
      all.filter((one): one is HiddenRows => one !== undefined && one.keys.size > 0)
    return this.#sources.map((source) => {
      const query = queryIn(this.#query, source.name)
      const copies = rows[held.indexOf(source)]
      if (copies === undefined) return query
      const hidden = some([copies.hidden])
      const denied = some([copies.outside, ...(source.denied ?? [])])
      return hidden.length === 0 && denied.length === 0 ? query : { ...query, hidden, denied }
    })
  }
}

function knowledgeOf({ held }: NamedSource, query: ListingQuery): Knowledge {
  const failure = held.failure(query)
  if (failure === null) return 'held'
  return failure.traits.state === 'skipped' ? 'skipped' : 'unknown'
}

/** What derived values mean in listings of that source. */
export function queryIn(query: ListingQuery, source: string): ListingQuery {
  const { priceLimit: limit } = query
  const criteria = criteriaIn(query.criteria, source)
  const standing = standingIn(query.standing, source)
  const isSame = criteria === query.criteria && standing === query.standing
  if (query.sizesOf === undefined) return isSame ? query : { ...query, criteria, standing }
  const sizesOf: SizesOf = (listing) => query.sizesOf!(listing, source)
  return { ...query, criteria, standing, sizesOf, priceLimit: limit && { ...limit, sizesOf } }
}

function standingIn(standing: StandingFilter | undefined, source: string): StandingFilter | undefined {
  if (standing === undefined) return undefined
  const criteria = criteriaIn(standing.criteria, source)
  return criteria === standing.criteria ? standing : { ...standing, criteria }
}

/** Listings whose best copy matches the filter. An unreadable copy matches none. */
export function decidingView(standing: StandingFilter = NO_FILTER): DecidingView {
  const bySource = new Map<string, StandingFilter['criteria']>()
  return {
    key: standing.key,
    has: (item, source) => {
      if (standing.criteria.length === 0) return true
      if (!isReadable(item)) return false
      const criteria = bySource.get(source) ?? criteriaIn(standing.criteria, source)
      bySource.set(source, criteria)
      return matchesAll(criteria, documentOf(item.bytes))
    },
  }
}

export function decidersOf(holdings: Holdings): OpenDeciders {
  return async (sources, query, signal) => {
    await Promise.all(sources.map(({ held }) => held.fetch?.(query, signal)))
    return new Deciders({ sources, query, holdings })
  }
}

/** @param ranked by rank */
export type OpenDeciders = (
  ranked: readonly NamedSource[],
  query: ListingQuery,
  signal: AbortSignal,
) => Promise<Deciders>

export function isReadable(item: Item): boolean {
  try {
    return item.bytes.length > 0
  } catch {
    return false
  }
}
