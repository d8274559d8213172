import type { ListingQuery } from '../../domain/query.ts'
import type { Reader } from '../../domain/reader.ts'
import type { NamedSource } from '../../domain/source/named-source.ts'
import {
  beforePlace,
  comparePositions,
  type MergedPosition,
  type PricePosition,
} from '../../domain/source/position.ts'
import type { Item } from '../../domain/source/reading.ts'
import type { PricedItem, PriceOrder } from '../../domain/source/selection.ts'
import { inSpan } from '../../domain/trace.ts'
import type { Deciders, OpenDeciders } from '../deciders.ts'
import { type MergedItem, mergeItem, shownPrice } from '../merged-item.ts'
import { Repeats } from '../repeats.ts'
import { type SelectedSource, selectSources } from '../selected-source.ts'
import { type MergeSettings, type Outcome, rankSources } from '../sources.ts'
import { comparisonIn } from './item-price.ts'
import { outliersBelow } from './outlier-marks.ts'
import type { Bound, PriceBounds } from './price-bounds.ts'
import { type ByPrice, nameGroups, orderOf } from './price-order.ts'

/** Where a sequence by price continues. */
export type PricePoint = {
  /** Names of the groups, as for the first page. */
  groups: readonly string[]
  /** Of the first page: what they mark comes last on every page. */
  bounds: readonly Bound[]
  /** The last visited copy. */
  after: PricePosition & MergedPosition & { part: number }
}

/** Parts of a sequence, one after the other. */
const PARTS = [
  { isUnchecked: false, isOutlier: false },
  { isUnchecked: false, isOutlier: true },
  { isUnchecked: true, isOutlier: false },
  { isUnchecked: true, isOutlier: true },
] as const
type Part = (typeof PARTS)[number]

type SequenceOptions = {
  by: ByPrice
  from?: PricePoint | null
  openDeciders: OpenDeciders
  reader: Reader
  settings: MergeSettings
}

/**
 * By price: the merge of all sources, each less the listings that better sources have. Outliers come after all others, and behind
 * these copies that a better source, which is away or held in part, might decide about. All sources are selected first.
 */
export class PriceSequence {
  readonly #sources: readonly NamedSource[]
  readonly #ranked: readonly NamedSource[]
  readonly #query: ListingQuery
  readonly #repeats = new Repeats()
  readonly #by: ByPrice
  readonly #openDeciders: OpenDeciders
  readonly #reader: Reader
  readonly #settings: MergeSettings
  /** Of the first page; `null` on it. */
  readonly #kept: readonly Bound[] | null
  #opened: Opened | null = null
  /** `null` until the sources are selected. */
  #groups: readonly string[] | null
  #order: PriceOrder
  #after: PricePoint['after'] | null

  constructor(
    sources: readonly NamedSource[],
    query: ListingQuery,
    { by, from = null, openDeciders, reader, settings }: SequenceOptions,
  ) {
    this.#sources = sources
    this.#ranked = rankSources(sources)
    this.#query = query
    this.#by = by
    this.#openDeciders = openDeciders
    this.#reader = reader
    this.#settings = settings
    this.#kept = from?.bounds ?? null
    this.#groups = from?.groups ?? null
    this.#order = orderOf(this.#groups ?? [], by)
    this.#after = from?.after ?? null
  }

  /** In the order of the configuration. */
  get outcomes(): readonly Outcome[] {
    const selected = this.#opened?.byRank ?? []
    return this.#sources.flatMap((source) => selected.filter((one) => one.source === source))
  }

  /** `null` before the first listings are taken. */
  get bounds(): PriceBounds | null {
    return this.#opened?.bounds ?? null
  }

  get order(): PriceOrder {
    return this.#order
  }

  get resumePoint(): PricePoint | null {
    if (this.#after === null) return null
    const bounds = this.#kept ?? this.#opened?.bounds.marking() ?? []
    return { groups: this.#groups ?? [], bounds, after: this.#after }
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
      taken.push(...this.#show(visits))
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
    const bounds = await this.#settings.boundsOf(this.#reader, byRank)
    const outliersOf = this.#kept === null ? bounds.outliersOf : outliersBelow(this.#kept, this.#settings)
    this.#opened = { deciders, byRank, bounds, outliersOf }
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
      const { place, source, part } = last
      this.#after = { ...place, rank: source.rank, part }
    }
    return visits
  }

  *#copiesBehind(after: PricePoint['after'] | null): Generator<Visit, void> {
    for (const [part, { isUnchecked, isOutlier }] of PARTS.entries()) {
      if (after !== null && after.part > part) continue
      const start = after?.part === part ? after : null
      const streams = (this.#opened?.byRank ?? []).flatMap((source) =>
        this.#mayHave(source, { isUnchecked, isOutlier }) ? [this.#copiesOf(source, start, part)] : [],
      )
      yield* mergeByPrice(streams)
    }
  }

  #mayHave({ selection, rank, source }: SelectedSource, { isUnchecked, isOutlier }: Part): boolean {
    if (selection === null) return false
    if (isOutlier && (this.#kept ?? this.#opened!.bounds.marking()).length === 0) return false
    const isUnknown = this.#opened!.deciders.isUnknown(rank)
    return isUnknown === isUnchecked || (!isUnknown && source.isGateway === true)
  }

  /** Copies of one source. At the last place, those of better sources precede its copy; those of worse ones follow it. */
  *#copiesOf(
    source: SelectedSource,
    after: PricePoint['after'] | null,
    part: number,
  ): Generator<Visit, void> {
    const { isUnchecked, isOutlier } = PARTS[part]!
    const isUnknown = this.#opened!.deciders.isUnknown(source.rank)
    const from = after === null || source.rank <= after.rank ? after : beforePlace(after)
    for (const { item, place } of source.selection!.byPrice(this.#order, from)) {
      if ((isUnknown || (item.origin?.unchecked ?? []).length > 0) !== isUnchecked) continue
      if (this.#isOutlier(item, source) !== isOutlier) continue
      if (after === null || comparePositions(place, after) >= 0) yield { item, place, source, part }
    }
  }

  /** By the price that is shown. */
  #isOutlier(item: Item, { source }: SelectedSource): boolean {
    const { outliersOf } = this.#opened!
    if (outliersOf(item, source.name).length === 0) return false
    return (
      shownPrice(item, source.name, comparisonIn(this.#order), { ...this.#settings, outliersOf })?.outlier ===
      true
    )
  }

  /** Without those that have got a better copy since the sources were selected. */
  #show(visits: readonly Visit[]): MergedItem[] {
    return visits.flatMap(({ item, source: { rank, isStale } }) => {
      const verdict = this.#opened!.deciders.judge(item, rank)
      if (verdict === null || this.#repeats.add(item, verdict)) return []
      return [mergeItem(item, { ranked: this.#ranked, rank, isStale }, verdict)]
    })
  }
}

type Visit = PricedItem & { source: SelectedSource; part: number }

type Opened = {
  deciders: Deciders
  byRank: readonly SelectedSource[]
  bounds: PriceBounds
  outliersOf: PriceBounds['outliersOf']
}

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
