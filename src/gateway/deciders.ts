import { identityKey } from '../domain/listing-identity.ts'
import type { SizesOf } from '../domain/price/price-key.ts'
import { type HiddenRows, type ListingQuery, NO_FILTER, type StandingFilter } from '../domain/query.ts'
import type { Held } from '../domain/source/held.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import type { Item } from '../domain/source/reading.ts'
import { matchesAll } from '../filter-spec/evaluate.ts'
import { criteriaIn } from '../filter-spec/filter.ts'
import type { RankedCopy } from '../listing-index/authority.ts'
import { documentOf } from '../listing-index/document-reader.ts'
import { CopiesOfId } from './copies-of-id.ts'
import {
  type DecidingView,
  type HeldSource,
  type HiddenCopies,
  type Holdings,
  heldCopies,
} from './holdings.ts'
import { type KnownPublisher, publisherInBetter } from './known-publisher.ts'
import { lookUpIn, lookUpKey, openViews, type View } from './views.ts'

export type Copy = RankedCopy & { item: Item }

/** About a copy that no better source is known to have. */
export type Verdict = KnownPublisher & {
  /** Copies of the listing in worse sources, by rank. */
  otherCopies: readonly Copy[]
  isConflict: boolean
  /** Better sources that could not be asked whether they have the listing, by rank. */
  unchecked: readonly string[]
}

/** Why a copy is not shown: a better source has the listing; `outside`: and its copy is outside the view, so the listing does not exist. */
export type Hiding = 'hidden' | 'outside'

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

/** The rule of `authority.ts` over the sources of one query, as far as their copies are known. */
export class Deciders {
  readonly #sources: readonly NamedSource[]
  readonly #query: ListingQuery
  readonly #holdings: Holdings
  readonly #views: readonly View[]
  readonly #view: DecidingView
  readonly #areAllHeld: boolean
  /** By rank. All ranges of a source have one object, since a source in memory caches its scan by that object. */
  readonly #queries: readonly ListingQuery[]
  /** Ids with many copies, as of `#ofVersion`: all listings of a gateway may have one id. */
  readonly #byId = new Map<string, CopiesOfId<Copy>>()
  #ofVersion = 0
  /** `null` until it is needed. */
  #sharedByWholes: ReadonlySet<string> | null = null
  /** By id, of sources that are not in memory. */
  readonly #given = new Map<string, Copy[]>()

  static async open(options: DecidersOptions, budgetMs: number, signal: AbortSignal): Promise<Deciders> {
    return new Deciders(options, await openViews(options, budgetMs, signal))
  }

  private constructor({ sources, query, holdings }: DecidersOptions, views: readonly View[]) {
    this.#sources = sources
    this.#query = query
    this.#holdings = holdings
    this.#views = views
    this.#view = decidingView(query.standing)
    this.#areAllHeld = views.every((view) => view.kind === 'held' && isWhole(view.held))
    this.#queries = this.#hiddenRows().map(({ hidden, denied }, rank) => {
      const view = views[rank]!
      const asked = queryIn(query, sources[rank]!.name)
      if (view.kind === 'unknown' && view.isOutage) return { ...asked, outage: view.error }
      return hidden.length === 0 && denied.length === 0 ? asked : { ...asked, hidden, denied }
    })
  }

  /** What the source of that rank is asked: without the rows that better ones hide, and not again during an outage. */
  queryOf(rank: number): ListingQuery {
    return this.#queries[rank]!
  }

  /**
   * Whether a better source is known to have the listing, or the copy itself is outside the view; `null`: neither. A source in
   * memory has left out what is outside.
   */
  hidingOf(item: Item, rank: number): Hiding | null {
    if (this.#mayHaveCopies(item)) {
      const decider = this.#copiesOf(item.listingId).deciderOf(item)
      const isHiding = decider !== undefined && decider.rank < rank
      const sought = this.#lookedUp(item, isHiding ? decider.rank : rank)
      if (sought !== null) return sought
      if (isHiding) return this.#hidingBy(decider)
    }
    if (this.#view.key === '' || this.isHeld(rank)) return null
    return this.#hidingBy({ item, rank }) === 'outside' ? 'outside' : null
  }

  /** Whether the source of that rank answers from memory, and leaves out what is hidden. */
  isHeld(rank: number): boolean {
    return this.#views[rank]!.kind === 'held' && this.#sources[rank]!.held!.answers(this.#query)
  }

  /** Whether a source is only asked about listings that would be shown. More may be hidden, so totals are upper bounds. */
  get mayLookUp(): boolean {
    return this.#views.some(({ kind }) => kind === 'looked-up')
  }

  /**
   * Listings that a source gives for this query decide too: it may have been read whole before they were there, and they
   * need no lookup.
   */
  learn(items: readonly Item[], rank: number): void {
    const view = this.#views[rank]!
    if (view.kind === 'looked-up')
      for (const item of items) if (identityKey(item) !== null) view.presence.set(lookUpKey(item), item)
    if (view.kind !== 'whole') return
    for (const item of items) {
      const { listingId } = item
      if (view.whole.find(listingId).length > 0) continue
      const given = this.#given.get(listingId) ?? []
      given.push(this.#copyOf(item, rank))
      this.#given.set(listingId, given)
      this.#byId.delete(listingId)
    }
  }

  /** Whether a better source that may have the listing cannot be asked at all. */
  isUnknown(rank: number): boolean {
    return this.#views.some((view, n) => n < rank && isUnknown(view))
  }

  /** Asks better sources that are too large to be read whole, all at once. */
  async lookUp(copies: readonly { item: Item; rank: number }[], signal: AbortSignal): Promise<void> {
    await Promise.all(
      this.#views.map(async (view, rank) => {
        if (view.kind !== 'looked-up') return
        const worse = copies.flatMap((copy) => (copy.rank > rank ? [copy.item] : []))
        await lookUpIn(view, worse, this.#query, signal)
      }),
    )
  }

  /** `null` where a better source is known to have the listing. */
  judge(item: Item, rank: number): Verdict | null {
    const mayHaveCopies = this.#mayHaveCopies(item)
    if (mayHaveCopies && this.hidingOf(item, rank) !== null) return null
    const copies = mayHaveCopies ? this.#copiesOf(item.listingId) : null
    return {
      ...publisherInBetter(this.#sources, { item, rank }, this.#query.standing, this.#isWhole),
      otherCopies: copies?.openOthersOf(item, rank) ?? NO_COPIES,
      isConflict: copies?.hasOther(item, rank) ?? false,
      unchecked: this.#areAllHeld ? NO_NAMES : this.#uncheckedFor(item, rank),
    }
  }

  readonly #isWhole = (rank: number): boolean => {
    const view = this.#views[rank]!
    return view.kind === 'whole' || (view.kind === 'held' && isWhole(view.held))
  }

  #isOwn(rank: number): boolean {
    return this.#sources[rank]!.mode === 'local'
  }

  /** In sources that are known whole. */
  #copiesOf(listingId: string): CopiesOfId<Copy> {
    const { version } = this.#holdings
    if (this.#ofVersion !== version) this.#byId.clear()
    this.#ofVersion = version
    const before = this.#byId.get(listingId)
    if (before !== undefined) return before
    const given = this.#given.get(listingId)?.filter(({ item }) => isReadable(item)) ?? NO_COPIES
    const copies = [...this.#views.flatMap((_, rank) => this.#copiesIn(rank, listingId)), ...given]
    const added = new CopiesOfId(copies, this.#query.status, (copy) => this.#hidingBy(copy) === 'hidden')
    if (copies.length > FEW) this.#byId.set(listingId, added)
    return added
  }

  #copiesIn(rank: number, listingId: string): readonly Copy[] {
    const view = this.#views[rank]!
    if (view.kind === 'held') return heldCopies(this.#sources[rank]!, rank, listingId)
    if (view.kind !== 'whole') return NO_COPIES
    return view.whole
      .find(listingId)
      .filter(isReadable)
      .map((item) => this.#copyOf(item, rank))
  }

  #copyOf(item: Item, rank: number): Copy {
    return { item, rank, status: this.#query.status ?? 'open', isOwn: this.#isOwn(rank) }
  }

  /** By the best source of those that were asked for it and have it. */
  #lookedUp(item: Item, rank: number): Hiding | null {
    for (let n = 0; n < rank; n++) {
      const view = this.#views[n]!
      const copy = view.kind === 'looked-up' ? view.presence.get(lookUpKey(item)) : null
      if (copy) return this.#hidingBy({ item: copy, rank: n })
    }
    return null
  }

  #hidingBy({ item, rank }: Pick<Copy, 'item' | 'rank'>): Hiding {
    return this.#view.has(item, this.#sources[rank]!.name) ? 'hidden' : 'outside'
  }

  #uncheckedFor(item: Item, rank: number): readonly string[] {
    return this.#views.slice(0, rank).flatMap((view, n) => {
      const isUnchecked = view.kind === 'looked-up' ? !view.presence.has(lookUpKey(item)) : isUnknown(view)
      return isUnchecked ? [this.#sources[n]!.name] : []
    })
  }

  #hiddenRows(): readonly { hidden: readonly HiddenRows[]; denied: readonly HiddenRows[] }[] {
    const ranks = this.#views.flatMap(({ kind }, rank) => (kind === 'held' ? [rank] : []))
    const held = ranks.map((rank) => this.#sources[rank] as NamedSource & HeldSource)
    const byHeld = held.length > 1 ? this.#holdings.hiddenRows(held, this.#view, this.#query.status) : []
    const some = (rows: readonly (HiddenRows | undefined)[]) =>
      rows.filter((one): one is HiddenRows => one !== undefined && one.keys.size > 0)
    return this.#views.map((view, rank) => {
      if (view.kind !== 'held') return { hidden: [], denied: [] }
      const inMemory = byHeld[ranks.indexOf(rank)]
      const byWholes = this.#hiddenByWholes(view.held, rank)
      return {
        hidden: some([inMemory?.hidden, byWholes.hidden]),
        denied: some([inMemory?.outside, byWholes.outside, ...(this.#sources[rank]!.denied ?? [])]),
      }
    })
  }

  #hiddenByWholes(held: Held, rank: number): HiddenCopies {
    const wholes = this.#views.slice(0, rank).flatMap((view) => (view.kind === 'whole' ? [view.whole] : []))
    const ids = new Set(wholes.flatMap((whole) => [...whole.ids()]))
    const keys = { hidden: new Set<string>(), outside: new Set<string>() }
    for (const id of ids)
      for (const { key, item } of held.find(id)) {
        const hiding = this.hidingOf(item, rank)
        if (hiding !== null) keys[hiding].add(key)
      }
    return { hidden: { keys: keys.hidden, version: 0 }, outside: { keys: keys.outside, version: 0 } }
  }

  #mayHaveCopies({ listingId }: Item): boolean {
    if (this.#holdings.isShared(listingId) || this.mayLookUp || this.#given.has(listingId)) return true
    if (this.#areAllHeld) return false
    this.#sharedByWholes ??= this.#findShared()
    return this.#sharedByWholes.has(listingId)
  }

  /** Ids of live sources that another source has, too. */
  #findShared(): ReadonlySet<string> {
    const held = this.#views.flatMap((view) => (view.kind === 'held' ? [view.held] : []))
    const ids = new Set<string>()
    const shared = new Set<string>()
    for (const view of this.#views)
      if (view.kind === 'whole')
        for (const id of view.whole.ids())
          if (ids.has(id) || view.whole.find(id).length > 1 || held.some((one) => one.find(id).length > 0))
            shared.add(id)
          else ids.add(id)
    return shared
  }
}

const isWhole = (held: Held): boolean => held.coverage() === 'whole'

/** Whether the source may have listings that are not known here. */
function isUnknown(view: View): boolean {
  return view.kind === 'unknown' || (view.kind === 'held' && !isWhole(view.held))
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

/** @param budgetMs of the query */
export function decidersOf(holdings: Holdings, budgetMs: number): OpenDeciders {
  return (sources, query, signal) => Deciders.open({ sources, query, holdings }, budgetMs, signal)
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
