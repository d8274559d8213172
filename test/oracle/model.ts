import type { Micros } from '../../src/domain/timestamp.ts'
import { isMatch, type Question } from './ask.ts'
import type { Version } from './history.ts'
import { INNER, type Plan, type Route } from './world.ts'

/** One copy of a listing as a gateway reads it. */
export type Copy = {
  key: string
  listingId: string
  position: Micros
  /** As `_meta.registry` names it. */
  registry: string
  version: Version
  rank: number
  /** Its index among the matches of its source. */
  index: number
}

export type Merged = {
  key: string
  listingId: string
  position: Micros
  /** Best first. */
  copies: readonly Copy[]
  /** Rank of the source of the newest copy. */
  rank: number
}

/** What a gateway over these Registries has to answer while nothing changes: the merged sequence, computed independently. */
export function mergedSequence(
  plan: Pick<Plan, 'outer' | 'inner'>,
  versions: readonly Version[],
  question: Question,
  cap: Micros,
): Merged[] {
  const current = versions.filter(({ until }) => until === null)
  const matching = current.filter((version) => isMatch(question, version))
  const copiesOf = (held: readonly Version[], { name }: Route, rank: number): Copy[] =>
    held
      .filter(({ registry }) => registry === name)
      .map((version) => ({
        key: version.key,
        listingId: version.listingId,
        position: Math.min(version.createdAt, cap),
        registry: name,
        version,
        rank,
        index: 0,
      }))
  const behind = ({ mode }: Route, rank: number): Copy[] => {
    const isHeld = isReadFully(mode, question)
    const held = isHeld
      ? current.filter(({ status, odd }) => status === 'open' && odd === undefined)
      : matching
    const inner = merge(ranked(plan.inner).flatMap((route, n) => numbered(copiesOf(held, route, n))))
    return inner.flatMap(({ key, listingId, position, copies }) => {
      const { registry, version } = copies[0]!
      if (!isMatch(question, version)) return []
      return [{ key, listingId, position, registry: `${INNER}/${registry}`, version, rank, index: 0 }]
    })
  }
  return merge(
    ranked(plan.outer).flatMap((route, rank) =>
      numbered(route.name === INNER ? behind(route, rank) : copiesOf(matching, route, rank)),
    ),
  )
}

/**
 * Whether a gateway answers from a snapshot of everything open. A snapshot of another gateway has one copy of each
 * listing, which decides whether the listing matches.
 */
export function isReadFully(mode: Route['mode'], { status }: Question): boolean {
  return mode === 'snapshot' && status === 'open'
}

/** By priority, then by name. */
export function ranked(routes: readonly Route[]): Route[] {
  return routes.toSorted((a, b) => a.priority - b.priority || (a.name < b.name ? -1 : 1))
}

function numbered(copies: readonly Copy[]): Copy[] {
  return copies
    .toSorted((a, b) => b.position - a.position || compare(a.listingId, b.listingId))
    .map((copy, index) => ({ ...copy, index }))
}

function merge(copies: readonly Copy[]): Merged[] {
  const listings = [...Map.groupBy(copies, ({ key }) => key)].map(([key, group]): Merged => {
    const position = Math.max(...group.map((copy) => copy.position))
    const newest = group.filter((copy) => copy.position === position)
    return {
      key,
      listingId: group[0]!.listingId,
      position,
      copies: group.toSorted((a, b) => a.rank - b.rank),
      rank: Math.min(...newest.map((copy) => copy.rank)),
    }
  })
  return listings.sort(
    (a, b) =>
      b.position - a.position ||
      a.rank - b.rank ||
      compare(a.listingId, b.listingId) ||
      compare(a.key, b.key),
  )
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
