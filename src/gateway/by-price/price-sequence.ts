import type { ListingQuery } from '../../domain/query.ts'
import type { NamedSource } from '../../domain/source/named-source.ts'
import { justBefore } from '../../domain/source/reading.ts'
import type { PricedItem, PriceOrder, PricePlace } from '../../domain/source/selection.ts'
import type { Micros } from '../../domain/timestamp.ts'
import { inSpan } from '../../domain/trace.ts'
import { inTurns, nextTurn } from '../../domain/turns.ts'
import { comparePricePlaces } from '../../listing-index/item-selection.ts'
import {
  type Copy,
  groupCopies,
  isReadable,
  isSameCopy,
  type MergedItem,
  mergeGroup,
} from '../merged-item.ts'
import { type SelectedSource, selectSources, sharedCopies, smallerSources } from '../selected-source.ts'
import { type Outcome, rankSources } from '../sources.ts'
import { type ByPrice, nameGroups, orderOf } from './price-order.ts'

/** Where a sequence by price continues. */
export type PricePoint = {
  /** Names of the groups, as for the first page. */
  groups: readonly string[]
  /** The last visited copy: the `nth` of its source at that place. */
  after: PricePlace & { rank: number; nth: number }
}

/** Copies that are visited in one turn of the event loop: about 20 ms. Most copies may be hidden by better sources. */
const MAX_VISITED = 4000
/** Most ids that are looked up to count duplicates. Beyond, only those that were visited count. */
const MAX_COUNTED = 20_000

/**
 * By price, each listing once: as the copy of the best source that has it, at that copy's price. All sources are selected
 * first. Up to `MAX_VISITED` copies are merged within one turn of the event loop, so what they give is of one moment.
 */
export class PriceSequence {
  readonly #sources: readonly NamedSource[]
  readonly #ranked: readonly NamedSource[]
  readonly #query: ListingQuery
  readonly #by: ByPrice
  readonly #cap: Micros
  #selected: readonly SelectedSource[] | null = null
  /** Those with a selection, by rank. */
  #answered: readonly SelectedSource[] = []
  /** `null` until the sources are selected. */
  #groups: readonly string[] | null
  #order: PriceOrder
  #after: PricePoint['after'] | null
  #hidden = 0
  #isEnded = false

  constructor(
    sources: readonly NamedSource[],
    query: ListingQuery,
    { by, cap, from = null }: { by: ByPrice; cap: Micros; from?: PricePoint | null },
  ) {
    this.#sources = sources
    this.#ranked = rankSources(sources)
    this.#query = query
    this.#by = by
    this.#cap = cap
    this.#groups = from?.groups ?? null
    this.#order = orderOf(this.#groups ?? [], by)
    this.#after = from?.after ?? null
  }

  get outcomes(): readonly Outcome[] {
    return this.#selected ?? []
  }

  get order(): PriceOrder {
    return this.#order
  }

  get resumePoint(): PricePoint | null {
    return this.#after === null ? null : { groups: this.#groups ?? [], after: this.#after }
  }

  /** Distinct matches. */
  async countTotal(caller: AbortSignal): Promise<number> {
    const selected = this.#selected ?? []
    const isCountable = sumOf(smallerSources(selected)) <= MAX_COUNTED
    const hidden = isCountable ? await inTurns(countHidden(selected), caller) : this.#hidden
    return sumOf(selected) - hidden
  }

  /** Fewer than `least` only at the end. An abort with a `SourceError` fails the pending sources only. */
  async take(count: number, signal: AbortSignal, least = count): Promise<MergedItem[]> {
    await this.#select(signal)
    const taken = this.#merge(count)
    while (taken.length < least && !this.#isEnded) {
      await nextTurn(signal)
      taken.push(...this.#merge(count - taken.length))
    }
    return taken
  }

  /** As far as one turn shows. It may consume the next listing, so call it last. */
  hasMore(): boolean {
    return this.#merge(1).length > 0 || !this.#isEnded
  }

  async #select(signal: AbortSignal): Promise<void> {
    if (this.#selected !== null) return
    this.#selected = await selectSources(this.#sources, this.#query, signal)
    this.#answered = this.#selected
      .filter(({ selection }) => selection !== null)
      .sort((a, b) => a.rank - b.rank)
    if (this.#groups !== null) return
    const offers = this.#answered.flatMap(({ selection }) => selection?.offers(this.#by.tokens) ?? [])
    this.#groups = nameGroups(offers, this.#by)
    this.#order = orderOf(this.#groups, this.#by)
  }

  #merge(count: number): MergedItem[] {
    const attributes = ({ length }: MergedItem[]) => ({ 'entrepot.merge.items': length })
    return inSpan(this.#query.trace, 'merge', () => this.#mergeNow(count), attributes)
  }

  #mergeNow(count: number): MergedItem[] {
    const sources = this.#answered.map((source) => copiesBehind(source, this.#order, this.#after))
    const heads = sources.map((copies) => copies.next().value ?? undefined)
    const merged: MergedItem[] = []
    this.#isEnded = false
    for (let visited = 0; merged.length < count && visited < MAX_VISITED; visited++) {
      const n = foremost(heads)
      const head = heads[n]
      if (!head) {
        this.#isEnded = true
        break
      }
      heads[n] = sources[n]!.next().value ?? undefined
      const { place, reader, nth } = head
      this.#after = { ...place, rank: reader.rank, nth }
      const shown = this.#show(head)
      if (shown === null) this.#hidden++
      else merged.push(shown)
    }
    return merged
  }

  /** `null` for a copy of which a better one is shown. */
  #show(copy: Copy): MergedItem | null {
    if (!isReadable(copy)) {
      copy.reader.addInvalid()
      return null
    }
    const groups = groupCopies(this.#copiesOf(copy))
    const group = groups.find((one) => one.includes(copy))!
    if (group.find(isReadable) !== copy) return null
    const newest = Math.max(...group.map(({ item }) => item.position))
    const inOrder = [copy, ...group.filter((other) => other !== copy)]
    return mergeGroup(inOrder, {
      ranked: this.#ranked,
      conflict: groups.length > 1,
      position: Math.min(newest, this.#cap),
    })
  }

  /** Of its id by rank, itself among them. */
  #copiesOf(copy: Copy): Copy[] {
    return this.#answered.flatMap((source) => {
      const copies = source.copiesOf(copy.item.listingId)
      if (source !== copy.reader) return copies
      const same = copies.find(({ item }) => item === copy.item)
      const own = same ?? copies.find(({ item }) => isSameCopy(item, copy.item))
      return [...copies.map((other) => (other === own ? copy : other)), ...(own === undefined ? [copy] : [])]
    })
  }
}

/** The index of the first one; -1 without any. */
function foremost(heads: readonly (Visit | undefined)[]): number {
  let best = -1
  for (const [n, head] of heads.entries())
    if (head && (best === -1 || comparePricePlaces(head.place, heads[best]!.place) < 0)) best = n
  return best
}

function* countHidden(selected: readonly SelectedSource[]): Generator<void, number> {
  let hidden = 0
  for (const groups of sharedCopies(selected)) {
    for (const group of groups) hidden += group.length - 1
    yield
  }
  return hidden
}

function sumOf(selected: readonly SelectedSource[]): number {
  return selected.reduce((sum, one) => sum + one.total, 0)
}

/** `nth`: among the copies of its source at that place, of which a gateway may have several. */
type Visit = PricedItem & { reader: SelectedSource; nth: number }

/** Copies of one source. At the last place, those of better sources precede its copy; those of worse ones follow it. */
function* copiesBehind(
  reader: SelectedSource,
  order: PriceOrder,
  after: PricePoint['after'] | null,
): Generator<Visit, void> {
  const isPassed = after !== null && reader.rank < after.rank
  const passed = reader.rank === after?.rank ? after.nth : 0
  const from = after === null || isPassed ? after : { ...after, listingId: justBefore(after.listingId) }
  let nth = 0
  let last: PricePlace | null = null
  for (const { item, place } of reader.selection!.byPrice(order, from)) {
    nth = last !== null && comparePricePlaces(place, last) === 0 ? nth + 1 : 1
    last = place
    const compared = after === null ? 1 : comparePricePlaces(place, after)
    if (compared > 0 || (compared === 0 && nth > passed)) yield { item, place, reader, nth }
  }
}
