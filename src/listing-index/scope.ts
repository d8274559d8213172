import type { ListingStatus } from '../domain/listing.ts'
import type { StandingFilter } from '../domain/query.ts'
import { matchesAll } from '../filter-spec/evaluate.ts'
import { criteriaIn } from '../filter-spec/filter.ts'
import type { Decision } from './authority.ts'
import { type Bitset, bitset, hasBit, slotsIn } from './bitset.ts'
import { type Copy, listingIdOf } from './copy.ts'
import { documentOf } from './document-reader.ts'
import { DocumentScan } from './document-scan.ts'
import type { Base, KeyUnions } from './key-union.ts'
import type { Selected } from './masks.ts'
import { type Conditions, type CopyConditions, matchSegment } from './match.ts'
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
  unions: KeyUnions
  /** Raised with every change. */
  version: number
}

/** A question over an index, as its matches are found again after each change. */
export type IndexQuestion = {
  parts: IndexParts
  scope: Scope
  conditions: Conditions
  /** Whether it has no condition but its status. */
  isWhole: boolean
}

/** Documents of rows whose segment lacks a column are read in steps. @throws SourceError `unsupported_filter` for too many */
export function* questionOf(
  parts: IndexParts,
  scope: Scope,
  asked: CopyConditions,
): Generator<void, IndexQuestion> {
  const scan = new DocumentScan()
  const selected = selectedOf(scope, asked.status)
  const conditions: Conditions = {
    ...asked,
    standing: scope.standing?.criteria ?? [],
    maskOf: (segment) => scope.ranking.maskOf(segment, selected),
    laneAt: (number) => parts.lanes.at(number),
  }
  const all = [...conditions.criteria, ...conditions.standing]
  const lacking = parts.segments.all.filter((segment) =>
    all.some(({ filter }) => segment.columnOf(filter) === undefined),
  )
  // All are matched before a step: segments may be merged meanwhile.
  for (const { rows, slots } of lacking.map((segment) => matchSegment(segment, conditions)))
    yield* scan.evaluate(rows, slots, all)
  const { criteria, priceLimit, sellers, lanes } = asked
  const isWhole = criteria.length === 0 && !priceLimit && !sellers && !lanes && !hasFilter(scope)
  return { parts, scope, conditions: { ...conditions, scan }, isWhole }
}

export function findMatches({ parts, conditions }: IndexQuestion): readonly Match[] {
  return parts.segments.all
    .map((segment) => matchSegment(segment, conditions))
    .filter(({ count, hidden }) => count > 0 || hidden !== undefined)
}

/** In a view with a filter, the lanes of copies that match and that better ones hide, of listings whose best copy is in the view. */
export function* hiddenInView({ parts, scope, conditions }: IndexQuestion): Generator<number> {
  if (!hasFilter(scope)) return
  const { status, standing, maskOf, laneAt, scan } = conditions
  const all = parts.segments.all.map((segment) => matchSegment(segment, { ...conditions, standing: [] }))
  if (all.every(({ hidden }) => hidden === undefined)) return
  const whole = { status: null, criteria: [], standing, maskOf, laneAt, scan: scan! }
  const inView = new Map<Rows, Bitset>()
  for (const { rows } of all) inView.set(rows, matchSegment(rows, whole).slots)
  const isInView = ({ rows, slot }: RowPlace): boolean => {
    const slots = inView.get(rows)
    return slots === undefined
      ? isMatch(parts, parts.copyAt({ rows, slot }), scope.standing!)
      : hasBit(slots, slot)
  }
  const selected = selectedOf(scope, status)
  for (const { rows, hidden } of all)
    for (const slot of hidden === undefined ? [] : slotsIn(hidden)) {
      const [key, lane] = [rows.keyOf(slot), rows.laneOf(slot)]
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
  const isSure = !scope.ranking.leavesOut && !hasFilter(scope)
  for (const number of parts.sellers.numbersOf(address)) {
    const { storefrontUrl } = parts.sellers.of(number)
    for (const lane of parts.sellers.lanesOf(number)) {
      const { source } = parts.lanes.at(lane)
      if (!scope.ranking.has(lane, selected) || found.get(source)?.has(storefrontUrl) === true) continue
      if (isSure || existsRow(parts, scope, { lane, number }))
        found.set(source, (found.get(source) ?? new Set()).add(storefrontUrl))
    }
  }
  return found
}

/** What the scope shows without its filters. */
export function baseOf(scope: Scope): Base {
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
    for (const slot of slotsIn(slots)) {
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
  const name = `${sources.key} ${status} ${via === undefined ? '' : JSON.stringify(via)}`
  const selected = { name, sources, via, status }
  latest.set(sources, selected)
  return selected
}

/** Masks know a selection again by its object. */
const latest = new WeakMap<SourceSet, Selected>()

const hasFilter = ({ standing }: Scope): boolean => (standing?.criteria.length ?? 0) > 0

function isMatch(parts: IndexParts, { source, bytes }: Copy, { criteria }: StandingFilter): boolean {
  return matchesAll(criteriaIn(criteria, parts.source(source).name), documentOf(bytes))
}
