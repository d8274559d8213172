import type { ListingQuery } from '../../domain/query.ts'
import type { NamedSource } from '../../domain/source/named-source.ts'
import {
  beforePlace,
  comparePositions,
  type MergedPosition,
  type PricePosition,
} from '../../domain/source/position.ts'
import type { PricedItem, PriceOrder } from '../../domain/source/selection.ts'
import { inSpan } from '../../domain/trace.ts'
import type { Deciders, OpenDeciders } from '../deciders.ts'
import { type MergedItem, mergeItem } from '../merged-item.ts'
import { Repeats } from '../repeats.ts'
import { type SelectedSource, selectSources } from '../selected-source.ts'
import { type Outcome, rankSources } from '../sources.ts'
import { type ByPrice, nameGroups, orderOf } from './price-order.ts'

/** Where a sequence by price continues. */
export type PricePoint = {
  /** Names of the groups, as for the first page. */
  groups: readonly string[]
  /** The last visited copy: the `nth` of its source at that place. */
  after: PricePosition & MergedPosition & { isUnchecked: boolean }
}

/**
 * By price: the merge of all sources, each less the listings that better sources have. Copies that a better source, which
 * is away, might decide about come after all others. All sources are selected first.
 */
export class PriceSequence {
  readonly #sources: readonly NamedSource[]
  readonly #ranked: readonly NamedSource[]
  readonly #query: ListingQuery
  readonly #repeats = new Repeats()
  readonly #by: ByPrice
  readonly #openDeciders: OpenDeciders
  #opened: { deciders: Deciders; byRank: readonly SelectedSource[] } | null = null
  /** `null` until the sources are selected. */
  #groups: readonly string[] | null
  #order: PriceOrder
  #after: PricePoint['after'] | null

  constructor(
    sources: readonly NamedSource[],
    query: ListingQuery,
    { by, from = null, openDeciders }: { by: ByPrice; from?: PricePoint | null; openDeciders: OpenDeciders },
  ) {
    this.#sources = sources
    this.#ranked = rankSources(sources)
    this.#query = query
    this.#by = by
    this.#openDeciders = openDeciders
    this.#groups = from?.groups ?? null
    this.#order = orderOf(this.#groups ?? [], by)
    this.#after = from?.after ?? null
  }

  /** In the order of the configuration. */
  get outcomes(): readonly Outcome[] {
    const selected = this.#opened?.byRank ?? []
    return this.#sources.flatMap((source) => selected.filter((one) => one.source === source))
  }

  /** All matches of each source, by rank; empty before the first listings are taken. */
  get selected(): readonly SelectedSource[] {
    return this.#opened?.byRank ?? []
  }

  get order(): PriceOrder {
    return this.#order
  }

  /** `null` before the first listings are taken. */
  get deciders(): Deciders | null {
    return this.#opened?.deciders ?? null
  }

  get resumePoint(): PricePoint | null {
    return this.#after === null ? null : { groups: this.#groups ?? [], after: this.#after }
  }

  /** Distinct matches. */
  get total(): number {
    return (this.#opened?.byRank ?? []).reduce((sum, one) => sum + one.total, 0)
  }

  /** Fewer than `least` only at the end. An abort with a `SourceError` fails the pending sources only. */
  async take(count: number, signal: AbortSignal, least = count): Promise<MergedItem[]> {
    await this.#open(signal)
    const taken: MergedItem[] = []
    while (taken.length < least) {
      const visits = this.#traced(() => this.#visit(count - taken.length))
      if (visits.length === 0) break
      taken.push(...(await this.#show(visits, signal)))
    }
    return taken
  }

  /** It may consume the next listing, so call it last. */
  hasMore(): boolean {
    return this.#visit(1).length > 0
  }

  async #open(signal: AbortSignal): Promise<void> {
    if (this.#opened !== null) return
    const deciders = await this.#openDeciders(this.#ranked, this.#query, signal)
    const byRank = await selectSources(this.#ranked, deciders, signal)
    this.#opened = { deciders, byRank }
    if (this.#groups !== null) return
    const offers = byRank.flatMap(({ selection }) => selection?.offers(this.#by.tokens) ?? [])
    this.#groups = nameGroups(offers, this.#by)
    this.#order = orderOf(this.#groups, this.#by)
  }

  #traced(visit: () => Visit[]): Visit[] {
    return inSpan(this.#query.trace, 'merge', visit, ({ length }) => ({ 'entrepot.merge.items': length }))
  }

  #visit(count: number): Visit[] {
    const visits = Array.from(this.#copiesBehind(this.#after).take(count))
    const last = visits.at(-1)
    if (last !== undefined) {
      const { place, source, nth, isUnchecked } = last
      this.#after = { ...place, rank: source.rank, nth, isUnchecked }
    }
    return visits
  }

  *#copiesBehind(after: PricePoint['after'] | null): Generator<Visit, void> {
    for (const isUnchecked of [false, true]) {
      if (after?.isUnchecked && !isUnchecked) continue
      const start = after?.isUnchecked === isUnchecked ? after : null
      const streams = (this.#opened?.byRank ?? []).flatMap((source) =>
        this.#mayHave(source, isUnchecked) ? [this.#copiesOf(source, start, isUnchecked)] : [],
      )
      yield* mergeByPrice(streams)
    }
  }

  #mayHave({ selection, rank, source }: SelectedSource, isUnchecked: boolean): boolean {
    if (selection === null) return false
    const isUnknown = this.#opened!.deciders.isUnknown(rank)
    return isUnknown === isUnchecked || (!isUnknown && source.mayRepeat === true)
  }

  /** Copies of one source. At the last place, those of better sources precede its copy; those of worse ones follow it. */
  *#copiesOf(
    source: SelectedSource,
    after: PricePoint['after'] | null,
    isUnchecked: boolean,
  ): Generator<Visit, void> {
    const isUnknown = this.#opened!.deciders.isUnknown(source.rank)
    const isPassed = after !== null && source.rank < after.rank
    const passed = source.rank === after?.rank ? after.nth : 0
    const from = after === null || isPassed ? after : beforePlace(after)
    let nth = 0
    let last: PricePosition | null = null
    for (const { item, place } of source.selection!.byPrice(this.#order, from)) {
      if ((isUnknown || (item.origin?.unchecked ?? []).length > 0) !== isUnchecked) continue
      nth = last !== null && comparePositions(place, last) === 0 ? nth + 1 : 1
      last = place
      const compared = after === null ? 1 : comparePositions(place, after)
      if (compared > 0 || (compared === 0 && nth > passed)) yield { item, place, source, nth, isUnchecked }
    }
  }

  /** What a look-up could not check comes last in its page. */
  async #show(visits: readonly Visit[], signal: AbortSignal): Promise<MergedItem[]> {
    const { deciders } = this.#opened!
    if (deciders.mayLookUp) {
      const copies = visits.map(({ item, source: { rank } }) => ({ item, rank }))
      await deciders.lookUp(copies, signal)
    }
    const items: MergedItem[] = []
    for (const { item, source } of visits) {
      const { rank, isStale, source: named } = source
      const verdict = deciders.judge(item, rank)
      if (verdict === null) source.addHidden(deciders.hidingOf(item, rank))
      else if (this.#repeats.add(item, named, verdict)) source.addHidden()
      else items.push(mergeItem(item, { ranked: this.#ranked, rank, isStale }, verdict))
    }
    const isUnchecked = ({ unchecked }: MergedItem): boolean => unchecked.length > 0
    return [...items.filter((one) => !isUnchecked(one)), ...items.filter(isUnchecked)]
  }
}

/** `nth`: among the copies of its source at that place, of which a gateway may have several. */
type Visit = PricedItem & { source: SelectedSource; nth: number; isUnchecked: boolean }

/** Of equal places the best source's comes first. */
function* mergeByPrice(streams: readonly Generator<Visit, void>[]): Generator<Visit, void> {
  const heads = streams.map((stream) => stream.next().value ?? undefined)
  for (;;) {
    let best = -1
    for (const [n, head] of heads.entries())
      if (head && (best === -1 || comparePositions(head.place, heads[best]!.place) < 0)) best = n
    if (best === -1) return
    yield heads[best]!
    heads[best] = streams[best]!.next().value ?? undefined
  }
}
