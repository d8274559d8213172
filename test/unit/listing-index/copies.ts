import fc from 'fast-check'
import { LISTING_STATUSES, type ListingStatus } from '../../../src/domain/listing.ts'
import type { StandingFilter } from '../../../src/domain/query.ts'
import type { Origin } from '../../../src/domain/source/reading.ts'
import { matchesAll } from '../../../src/filter-spec/evaluate.ts'
import type { Criterion } from '../../../src/filter-spec/filter.ts'
import { parseJson } from '../../../src/json/value.ts'
import { type Decision, decide } from '../../../src/listing-index/authority.ts'
import type { Copy } from '../../../src/listing-index/copy.ts'
import { criterion, documentText } from './model.ts'

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

/** A copy of the model. `rank` is that of a ranking. */
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
  text: documentText,
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
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('go' as const), source }) },
)

/** A question, without its ranking. */
export type Question = {
  sources: readonly SourceName[]
  status: ListingStatus | null
  criteria: readonly Criterion[]
  standing: StandingFilter
  via: readonly string[]
}

export const question: fc.Arbitrary<Question> = fc.record({
  sources: fc.oneof(fc.constant([...SOURCES]), fc.subarray([...SOURCES])),
  status: fc.constantFrom<ListingStatus | null>('open', 'open', 'closed', null),
  criteria: fc.array(criterion, { maxLength: 2 }),
  standing: fc.array(criterion, { maxLength: 1 }).map((criteria) => {
    return { criteria, filters: [], key: String(criteria.length) }
  }),
  via: fc.oneof(fc.constant([]), fc.subarray(['g1', 'g2'])),
})

/** The rule of authority over all copies, one by one. */
export function decideAll(
  copies: readonly ModelCopy[],
  {
    names,
    groupBy,
    blocked,
  }: { names: readonly string[]; groupBy: 'listing' | 'id'; blocked: ReadonlySet<string> },
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
        publisher: copy.address,
        storefrontUrl: copy.storefrontUrl,
        ...(groupBy === 'id' && { isKnownById: true as const }),
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
