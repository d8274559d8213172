import fc from 'fast-check'
import { LISTING_STATUSES, type ListingStatus } from '../../../src/domain/listing.ts'
import type { StandingFilter } from '../../../src/domain/query.ts'
import type { Origin } from '../../../src/domain/source/item.ts'
import { matchesAll } from '../../../src/filter-spec/evaluate.ts'
import type { Criterion, Filter } from '../../../src/filter-spec/filter.ts'
import { parseJson } from '../../../src/json/value.ts'
import { type Decision, decide } from '../../../src/listing-index/authority.ts'
import type { Copy, Row } from '../../../src/listing-index/copy.ts'
import { CopyIndex } from '../../../src/listing-index/copy-index.ts'
import type { SegmentSizes } from '../../../src/listing-index/merge-segments.ts'
import type { Ranking } from '../../../src/listing-index/ranking.ts'
import type { Scope } from '../../../src/listing-index/scope.ts'
import { SourceSet } from '../../../src/listing-index/source-set.ts'
import { run } from '../../helpers/steps.ts'
import { criterion, documentText, FILTERS } from './model.ts'
import { pricedText } from './price-model.ts'

/** Names of sources; the first one is the own Registry. */
export const SOURCES = ['own', 'b', 'c', 'd'] as const
export type SourceName = (typeof SOURCES)[number]
const ADDRESSES = ['0xa', '0xb'] as const
const STOREFRONTS = ['https://a', 'https://b', null] as const
const IDS = ['l1', 'l2', 'l3', 'l4', 'l5', 'l6']

/** What a copy is, besides where it is. */
export type CopyDraft = {
  listingId: string
  address: string | null
  storefrontUrl: string | null
  status: ListingStatus
  position: number
  text: string
  via: readonly string[]
  isUnchecked: boolean
}

/** A copy of the model. */
export type ModelCopy = CopyDraft & { source: SourceName; key: string }

export type Move =
  | { kind: 'put'; source: SourceName; draft: CopyDraft }
  | { kind: 'remove'; source: SourceName; nth: number }
  | { kind: 'load'; source: SourceName; drafts: CopyDraft[]; isGeneration: boolean }
  | { kind: 'learn'; nth: number; address: string }
  | { kind: 'block'; address: string; isOut: boolean }
  | { kind: 'reload'; names: SourceName[]; groupBy: 'listing' | 'id' }
  | { kind: 'go'; source: SourceName }

const source = fc.constantFrom(...SOURCES)

const draft: fc.Arbitrary<CopyDraft> = fc.record({
  listingId: fc.constantFrom(...IDS),
  address: fc.option(fc.constantFrom(...ADDRESSES)),
  storefrontUrl: fc.constantFrom(...STOREFRONTS),
  status: fc.oneof(
    { weight: 3, arbitrary: fc.constant('open' as const) },
    { weight: 1, arbitrary: fc.constantFrom(...LISTING_STATUSES) },
  ),
  position: fc.nat(20),
  text: fc.oneof(documentText, pricedText),
  via: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.subarray(['g1', 'g2']) },
  ),
  isUnchecked: fc.boolean(),
})

export const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ kind: fc.constant('put' as const), source, draft }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('remove' as const), source, nth: fc.nat(20) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('load' as const),
      source,
      drafts: fc.array(draft, { maxLength: 12 }),
      isGeneration: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('learn' as const),
      nth: fc.nat(20),
      address: fc.constantFrom(...ADDRESSES),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('block' as const),
      address: fc.constantFrom(...ADDRESSES),
      isOut: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('reload' as const),
      names: fc.shuffledSubarray([...SOURCES]),
      groupBy: fc.constantFrom('listing' as const, 'id' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('go' as const), source }) },
)

/** A question, without its ranking. */
export type Question = {
  sources: readonly SourceName[]
  status: ListingStatus | null
  criteria: readonly Criterion[]
  standing: StandingFilter
  via: readonly string[]
  isChecked: boolean
}

export const question: fc.Arbitrary<Question> = fc.record({
  sources: fc.oneof(fc.constant([...SOURCES]), fc.subarray([...SOURCES])),
  status: fc.constantFrom<ListingStatus | null>('open', 'open', 'closed', null),
  criteria: fc.array(criterion, { maxLength: 2 }),
  standing: fc.array(criterion, { maxLength: 1 }).map((criteria) => {
    return { criteria, filters: [], key: String(criteria.length) }
  }),
  via: fc.oneof(fc.constant([]), fc.subarray(['g1', 'g2'])),
  isChecked: fc.boolean(),
})

/** Small segments, so that a short test seals and merges many of them. */
export const sizes: fc.Arbitrary<SegmentSizes> = fc.constantFrom(
  { tail: 3, segment: 16, step: 8 },
  { tail: 20, segment: 64, step: 8 },
)

/** The rule of authority over all copies, one by one. */
export function decideAll(
  { copies, names, groupBy, blocked }: World,
  { sources, status, standing, via }: Question,
): Decision<ModelCopy>[] {
  const ranked = copies
    .filter(({ source }) => sources.includes(source) && names.includes(source))
    .filter((copy) => !isOut(copy, blocked) && !copy.via.some((id) => via.includes(id)))
    .map((copy) => ({
      copy,
      rank: names.indexOf(copy.source),
      status: copy.status,
      isOwn: copy.source === 'own',
      item: {
        publisher: groupBy === 'id' ? 'any' : copy.address,
        storefrontUrl: copy.storefrontUrl,
      },
    }))
    .sort((a, b) => (a.copy.key < b.copy.key ? -1 : 1))
  const byId = Map.groupBy(ranked, ({ copy }) => copy.listingId)
  return [...byId.values()].flatMap((ofId) =>
    decide(ofId, { status, matches: ({ copy }) => matchesAll(standing.criteria, documentOf(copy)) }).map(
      ({ decider, otherCopies, ...decision }) => ({
        ...decision,
        decider: decider.copy,
        otherCopies: otherCopies.map(({ copy }) => copy),
      }),
    ),
  )
}

/** A copy of an unknown publisher is left out, too, where some address is. */
export const isOut = ({ address }: Pick<ModelCopy, 'address'>, blocked: ReadonlySet<string>): boolean =>
  blocked.size > 0 && (address === null || blocked.has(address))

export const isOutCopy = ({ publisher }: Copy, blocked: ReadonlySet<string>): boolean =>
  isOut({ address: publisher }, blocked)

export const documentOf = ({ text }: Pick<CopyDraft, 'text'>) => parseJson(text)

export function originOf({ via, isUnchecked }: CopyDraft): Origin | undefined {
  if (via.length === 0 && !isUnchecked) return undefined
  return {
    registry: 'r',
    alsoIn: [],
    stale: false,
    differs: false,
    ...(via.length > 0 && { via }),
    ...(isUnchecked && { unchecked: ['x'] }),
  }
}

/** Newest first, then by key and source. */
export function inOrder(copies: readonly ModelCopy[], cap = Number.POSITIVE_INFINITY): ModelCopy[] {
  return copies.toSorted(
    (a, b) =>
      Number(a.position > cap) - Number(b.position > cap) ||
      b.position - a.position ||
      compare(a.key, b.key) ||
      compare(a.source, b.source),
  )
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** An index beside a list of all its copies. */
export class World {
  readonly index: CopyIndex
  readonly numbers = new Map<SourceName, number>()
  readonly copies: ModelCopy[] = []
  names: readonly SourceName[] = SOURCES
  groupBy: 'listing' | 'id' = 'listing'
  blocked = new Set<string>()
  ranking: Ranking
  /** Listings of which `onTouched` has reported. */
  readonly touched = new Set<string>()
  /** By row: what is not known of a seller keeps it apart from others. */
  #unknown = 0

  constructor(sizes: SegmentSizes, filters: readonly Filter[] = FILTERS) {
    this.index = new CopyIndex(filters, sizes)
    this.index.onTouched((ids) => {
      for (const id of ids) this.touched.add(id)
    })
    for (const name of SOURCES) this.numbers.set(name, this.index.addSource(name, name === 'own'))
    this.ranking = this.#rank()
  }

  scope({ sources, standing, via }: Question): Scope {
    const numbers = sources.map((name) => this.numbers.get(name)!)
    return { ranking: this.ranking, sources: new SourceSet(numbers), standing, via }
  }

  make(step: Move): void {
    switch (step.kind) {
      case 'put':
        this.#put(step.source, step.draft)
        break
      case 'remove': {
        const ofSource = this.copies.filter(({ source }) => source === step.source)
        const copy = ofSource[step.nth % Math.max(1, ofSource.length)]
        if (copy === undefined) break
        this.index.remove(this.numbers.get(step.source)!, copy.key)
        this.copies.splice(this.copies.indexOf(copy), 1)
        break
      }
      case 'load':
        this.#load(step)
        break
      case 'learn':
        this.#learn(step)
        break
      case 'block':
        this.#block(step)
        break
      case 'reload': {
        const before = this.ranking
        this.names = step.names
        this.groupBy = step.groupBy
        this.ranking = this.#rank()
        this.index.end(before)
        break
      }
      case 'go': {
        // Their numbers are free, and those of their lanes: each gets those of another.
        const other = SOURCES[(SOURCES.indexOf(step.source) + 1) % SOURCES.length]!
        for (const name of [step.source, other]) {
          run(this.index.removeSource(this.numbers.get(name)!))
          this.#forget(name)
        }
        for (const name of [other, step.source])
          this.numbers.set(name, this.index.addSource(name, name === 'own'))
      }
    }
  }

  #rank(): Ranking {
    const isOut = (copy: Copy) => isOutCopy(copy, this.blocked)
    return run(this.index.rank({ names: this.names, groupBy: this.groupBy, isOut }))
  }

  #put(source: SourceName, draft: CopyDraft): void {
    const copy = this.#copyOf(source, draft)
    this.index.put(this.numbers.get(source)!, this.#row(copy))
    const before = this.copies.findIndex((one) => one.source === source && one.key === copy.key)
    if (before !== -1) this.copies.splice(before, 1)
    this.copies.push(copy)
  }

  /** In place of all rows of the source, or beside them. */
  #load({ source, drafts, isGeneration }: Move & { kind: 'load' }): void {
    const copies = new Map(drafts.map((draft) => this.#copyOf(source, draft)).map((copy) => [copy.key, copy]))
    const before = this.numbers.get(source)!
    const number = isGeneration ? this.index.addSource(source, source === 'own') : before
    run(
      this.index.load(
        number,
        Array.from(copies.values(), (copy) => this.#row(copy)),
      ),
    )
    const kept = this.copies.filter((one) => one.source === source && !copies.has(one.key))
    this.#forget(source)
    this.copies.push(...copies.values())
    if (!isGeneration) this.copies.push(...kept)
    this.numbers.set(source, number)
    if (!isGeneration) return
    for (const id of this.index.differences(before, number)) this.touched.add(id)
    run(this.index.removeSource(before))
  }

  #learn({ nth, address }: Move & { kind: 'learn' }): void {
    const unknown = this.copies.filter((copy) => copy.address === null)
    const copy = unknown[nth % Math.max(1, unknown.length)]
    if (copy === undefined) return
    const { seller, storefrontUrl } = this.index.get(this.numbers.get(copy.source)!, copy.key)!
    this.index.learn(seller, { publisher: address, storefrontUrl })
    copy.address = address
  }

  #block({ address, isOut }: Move & { kind: 'block' }): void {
    if (isOut) this.blocked.add(address)
    else this.blocked.delete(address)
    this.index.decideAgain(this.ranking, [...new Set(this.copies.map(({ listingId }) => listingId))])
  }

  #forget(source: SourceName): void {
    this.copies.splice(0, this.copies.length, ...this.copies.filter((one) => one.source !== source))
  }

  /** Copies of gateways have more in their keys. The own Registry has one copy of an id. */
  #copyOf(source: SourceName, draft: CopyDraft): ModelCopy {
    const { listingId, address, storefrontUrl } = draft
    const isGateway = source === 'c' || source === 'd'
    const key = isGateway ? `${listingId}\n${address ?? `at ${storefrontUrl}`}` : listingId
    const status = source === 'd' ? 'open' : draft.status
    return { ...draft, status, source, key }
  }

  #row(copy: ModelCopy): Row {
    const { key, status, position, text, address: publisher, storefrontUrl } = copy
    const seller = this.index.sellers.numberOf({ publisher, storefrontUrl }, `${this.#unknown++}`)
    return { key, seller, status, position, bytes: Buffer.from(text), origin: originOf(copy) }
  }
}
