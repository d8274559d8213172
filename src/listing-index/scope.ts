import type { ListingStatus } from '../domain/listing.ts'
import type { StandingFilter } from '../domain/query.ts'
import { matchesAll } from '../filter-spec/evaluate.ts'
import { type Criterion, criteriaIn } from '../filter-spec/filter.ts'
import type { Decision } from './authority.ts'
import { type Bitset, bitset, hasBit, highestBelow } from './bitset.ts'
import { type Copy, listingIdOf } from './copy.ts'
import { type CopyConditions, CopyMatches } from './copy-matches.ts'
import { documentOf } from './document-reader.ts'
import { DocumentScan } from './document-scan.ts'
import type { Base, SharedUnions } from './key-union.ts'
import type { Selected } from './masks.ts'
import { type Conditions, matchSegment } from './match.ts'
import type { Match } from './newest-first.ts'
import type { RankedRows, Ranking } from './ranking.ts'
import type { RowPlace, Rows, Segment } from './segment.ts'
import type { Sellers } from './sellers.ts'
import type { SourceSet } from './source-set.ts'

/** What one question reads. An object literal: scopes are not registered and do not end. */
export type Scope = {
  ranking: Ranking
  /** At most one generation of each source. */
  sources: SourceSet
  /** Of the reader's view: a listing whose best copy does not match does not exist. */
  standing?: StandingFilter | undefined
  /** Ids of gateways that the question came through: copies that came through one of them do not exist. */
  via?: readonly string[] | undefined
}

/** A copy in a decision. `rank`: of its source. */
export type RankedRow = Copy & { rank: number; isOwn: boolean }

/** What a scope reads of an index. */
export type IndexParts = RankedRows & {
  sellers: Sellers
  unions: SharedUnions
  /** Most rows of a segment. */
  rows: number
  /** Raised with every change. */
  version: () => number
}

/** As `CopyIndex.match`. */
export function* matchCopies(
  parts: IndexParts,
  scope: Scope,
  asked: CopyConditions,
): Generator<void, CopyMatches> {
  const scan = new DocumentScan()
  const conditions = conditionsOf(parts, scope, asked)
  for (const [segment, slots] of unreadRows(parts, conditions))
    yield* scan.evaluate(segment, slots, [...conditions.criteria, ...conditions.standing])
  let [version, ofRanking] = [-1, -1]
  let matches: readonly Match[] = []
  const find = (): readonly Match[] => {
    const { ranking } = scope
    if (parts.version() !== version || ranking.version !== ofRanking)
      matches = findMatches(parts, { ...conditions, scan })
    ;[version, ofRanking] = [parts.version(), ranking.version]
    return matches
  }
  const isWhole =
    asked.criteria.length === 0 && !asked.priceLimit && !asked.sellers && !asked.lanes && !hasFilter(scope)
  return new CopyMatches({
    find,
    unionsOf: (prices) => parts.unions.of(prices, parts.segments.all, parts.rows, baseOf(scope)),
    personOf: (seller) => parts.sellers.personOf(seller),
    copyAt: parts.copyAt,
    lanes: parts.lanes,
    wholeMaskOf: isWhole ? conditions.maskOf : null,
    ...(hasFilter(scope) && {
      hiddenInView: () => hiddenInView(parts, scope, { ...conditions, scan }, asked.status),
    }),
  })
}

/** Rows whose documents are read, since their segment lacks a column: those that pass all else. */
function unreadRows(parts: IndexParts, conditions: Conditions): [Segment, Bitset][] {
  const { criteria, standing } = conditions
  const isKnown = (segment: Segment) =>
    [...criteria, ...standing].every(({ filter }) => segment.columnOf(filter) !== undefined)
  return parts.segments.all.flatMap((segment): [Segment, Bitset][] => {
    if (isKnown(segment)) return []
    matchSegment(segment, conditions)
    return [[segment, segment.matches.slice()]]
  })
}

/** Lanes of copies that match and that better ones hide, of listings whose best copy is in the view. */
function* hiddenInView(
  parts: IndexParts,
  scope: Scope,
  conditions: Conditions,
  status: ListingStatus | null,
): Generator<number> {
  const { standing, maskOf } = conditions
  const hidden = parts.segments.all.flatMap((segment) => {
    const { hiddenSlots } = matchSegment(segment, { ...conditions, standing: [] })
    return hiddenSlots === undefined ? [] : { segment, slots: hiddenSlots.slice() }
  })
  if (hidden.length === 0) return
  const inView = new Map<Rows, Bitset>()
  for (const segment of parts.segments.all) {
    const whole = { status: null, sellers: null, criteria: [], standing, maskOf, scan: conditions.scan! }
    inView.set(segment, matchSegment(segment, whole).slots.slice())
  }
  const isInView = ({ rows, slot }: RowPlace): boolean => {
    const slots = inView.get(rows)
    return slots === undefined
      ? isMatch(parts, parts.copyAt({ rows, slot }), scope.standing!)
      : hasBit(slots, slot)
  }
  const selected = selectedOf(scope, status)
  for (const { segment, slots } of hidden)
    for (let slot = highestBelow(slots, segment.size); slot !== -1; slot = highestBelow(slots, slot)) {
      const [key, lane] = [segment.keyOf(slot), segment.laneOf(slot)]
      const decisions = scope.ranking.decisionsOf(listingIdOf(key), selected)
      const decision = decisions.find(({ otherCopies }) => {
        return otherCopies.some((copy) => copy.key === key && copy.lane === lane)
      })
      // A closed copy of the own Registry hides open ones.
      if (decision !== undefined && isInView(decision.decider.row)) yield lane
    }
}

/** All decisions of the scope about one id: what it shows, and what that hides. */
export function decisionsOf(
  parts: IndexParts,
  scope: Scope,
  listingId: string,
  status: ListingStatus | null,
): Decision<RankedRow>[] {
  const { ranking, standing } = scope
  const decisions = ranking.decisionsOf(listingId, selectedOf(scope, status), ({ row }) => {
    return !hasFilter(scope) || isMatch(parts, parts.copyAt(row), standing!)
  })
  return decisions.map(({ decider, otherCopies, ...decision }) => ({
    ...decision,
    decider: { ...parts.copyAt(decider.row), rank: decider.rank, isOwn: decider.isOwn },
    otherCopies: otherCopies.map(({ row, rank, isOwn }) => ({ ...parts.copyAt(row), rank, isOwn })),
  }))
}

/** Sources with a listing of that address that exists in the scope, and the storefronts there. A closed one of the own Registry counts. */
export function sellersOf(parts: IndexParts, scope: Scope, address: string): Map<number, Set<string | null>> {
  const selected = selectedOf(scope, 'open')
  const found = new Map<number, Set<string | null>>()
  for (const { lane, number } of parts.sellers.rowsOf(address)) {
    const { source } = parts.lanes.at(lane)
    if (!scope.ranking.has(lane, selected)) continue
    const { storefrontUrl } = parts.sellers.of(number)
    if (found.get(source)?.has(storefrontUrl) === true) continue
    const isSure = !scope.ranking.leavesOut && !hasFilter(scope)
    if (isSure || existsRow(parts, scope, { lane, number }))
      found.set(source, (found.get(source) ?? new Set()).add(storefrontUrl))
  }
  return found
}

function conditionsOf(parts: IndexParts, scope: Scope, asked: CopyConditions): Conditions {
  const { status, criteria, priceLimit, sellers = null, lanes, judgedBy } = asked
  const selected = selectedOf(scope, status)
  return {
    status,
    criteria,
    priceLimit,
    sellers,
    standing: scope.standing?.criteria ?? [],
    maskOf: (segment) => scope.ranking.maskOf(segment, selected),
    ...(judgedBy && {
      judgedIn: ({ filter }: Criterion, lane: number) =>
        judgedBy.get(parts.lanes.at(lane).source)?.get(filter.name),
    }),
    ...(lanes && { lanes: (lane: number) => lanes(parts.lanes.at(lane)) }),
  }
}

function findMatches(parts: IndexParts, conditions: Conditions): readonly Match[] {
  const matches: Match[] = []
  for (const segment of parts.segments.all) {
    const match = matchSegment(segment, conditions)
    if (match.count + match.hidden === 0) continue
    const hidden = match.hiddenSlots && { hiddenSlots: match.hiddenSlots.slice() }
    matches.push({ ...match, ...hidden, slots: match.slots.slice() })
  }
  return matches
}

/** What the scope shows without its filters. */
function baseOf(scope: Scope): Base {
  const { ranking, sources } = scope
  const selected = selectedOf(scope, 'open')
  const slotsOf = (segment: Segment): Bitset => {
    const { open } = segment.liveByStatus
    const { shown } = ranking.maskOf(segment, selected)
    return shown === null ? open : open.map((word, n) => word & shown[n]!)
  }
  return { width: sources.numbers.length, slotsOf }
}

function existsRow(
  parts: IndexParts,
  scope: Scope,
  { lane, number }: { lane: number; number: number },
): boolean {
  const selected = selectedOf(scope, 'open')
  for (const segment of parts.segments.all) {
    if (!segment.lanesInUse.has(lane)) continue
    const slots = segment.sellers.having(new Set([number]), bitset(segment.size))
    const { present } = scope.ranking.maskOf(segment, selected)
    for (let slot = highestBelow(slots, segment.size); slot !== -1; slot = highestBelow(slots, slot)) {
      if (!segment.isLive(slot) || segment.laneOf(slot) !== lane) continue
      if (present !== null && !hasBit(present, slot)) continue
      if (!hasFilter(scope)) return true
      const isRow = ({ source, key }: Copy) =>
        key === segment.keyOf(slot) && source === parts.lanes.at(lane).source
      const decisions = decisionsOf(parts, scope, listingIdOf(segment.keyOf(slot)), null)
      if (
        decisions.some(
          ({ isShown, decider, otherCopies }) => isShown && [decider, ...otherCopies].some(isRow),
        )
      )
        return true
    }
  }
  return false
}

function selectedOf(scope: Scope, status: ListingStatus | null): Selected {
  const { sources } = scope
  const via = scope.via?.length === 0 ? undefined : scope.via
  const before = latest.get(sources)
  if (before?.status === status && before.via === via) return before
  const selected = { sources, via, status }
  latest.set(sources, selected)
  return selected
}

/** Masks know a selection again by its object. */
const latest = new WeakMap<SourceSet, Selected>()

const hasFilter = ({ standing }: Scope): boolean => (standing?.criteria.length ?? 0) > 0

function isMatch(parts: IndexParts, { source, bytes }: Copy, { criteria }: StandingFilter): boolean {
  return matchesAll(criteriaIn(criteria, parts.source(source).name), documentOf(bytes))
}
