import { endOfMs } from '../../src/domain/timestamp.ts'
import type { Answer, Question, Shown } from './ask.ts'
import type { History, Version } from './history.ts'
import { isReadFully, type Merged, mergedSequence, ranked } from './model.ts'
import { INNER, type Plan } from './world.ts'

/** Listings that a stream reads of every source at first. */
const STREAM_ROUND = 189
/** Changes that are older prove that a copy in memory was seen on an earlier page of a walk. */
const LONG_AGO_MS = 300_000

type Expected = { sequence: readonly Merged[]; plan: Plan; question: Question; count: number }

/** Compares an answer with the model where nothing changed: which listings, in which order, and by which copy. */
export function judgeExactly(
  answer: Answer,
  keys: ReadonlyMap<Shown, string>,
  { plan, history }: { plan: Plan; history: History },
): string[] {
  const { question, pages, offset, kind, limit, isToEnd } = answer
  const cap = endOfMs(pages[0]!.begin.at)
  const hasFuture = plan.registries.some(({ skewMs }) => skewMs > 0)
  if (hasFuture && endOfMs(pages.at(-1)!.end.at) !== cap) return []
  // A snapshot of a gateway may have a copy that matches, and not a better one that does not.
  const isFiltered = question.gpuModel !== null || question.gpuCountMin !== null
  const isInnerHeld = plan.outer.some(({ name, mode }) => name === INNER && isReadFully(mode, question))
  if (isFiltered && isInnerHeld && plan.inner.length > 1) return []
  const sequence = mergedSequence(plan, history.versions, question, cap)
  const items = pages.flatMap((page) => page.items)
  const distinct = kind === 'walk' ? unrepeated(items, keys, sequence.slice(0, offset)) : items
  // A Registry whose clock is ahead dates its changes later than they were made.
  const isOld = !hasFuture && history.lastChange.at < pages[0]!.begin.at - LONG_AGO_MS
  if (distinct.length < items.length && isOld && isInMemory(plan, question))
    return ['a walk over snapshots repeats a listing']
  const expected = sequence.slice(offset, isToEnd ? undefined : offset + distinct.length)
  const faults = compareOrder(distinct, expected, keys, offset)
  const count = kind === 'stream' ? STREAM_ROUND : kind === 'page' ? offset + limit : 0
  if (faults.length > 0 || count === 0) return faults
  const judgeCopy = copyJudge({ sequence, plan, question, count })
  return distinct.flatMap((item, n) => judgeCopy(item, expected[n]!))
}

/** Without what a walk repeats, because the copies of a listing are far apart. */
function unrepeated(
  items: readonly Shown[],
  keys: ReadonlyMap<Shown, string>,
  skipped: readonly Merged[],
): Shown[] {
  const seen = new Set(skipped.map(({ key }) => key))
  return items.filter((item) => !seen.has(keys.get(item)!) && seen.add(keys.get(item)!))
}

/** Replicas have snapshots of different times. */
function isInMemory({ outer, replicas }: Plan, question: Question): boolean {
  return replicas === 1 && outer.every(({ name, mode }) => name !== INNER && isReadFully(mode, question))
}

function compareOrder(
  items: readonly Shown[],
  expected: readonly Merged[],
  keys: ReadonlyMap<Shown, string>,
  offset: number,
): string[] {
  const byKey = new Map(expected.map((merged) => [merged.key, merged]))
  for (let n = 0; n < Math.max(items.length, expected.length); n++) {
    const [key, merged] = [items[n] && keys.get(items[n]!), expected[n]]
    if (key !== merged?.key && !isTied(key === undefined ? undefined : byKey.get(key), merged))
      return [`at ${offset + n} is ${key}, not ${merged?.key}`]
  }
  return []
}

/** Namesakes of one instant behind one gateway are in no order. */
function isTied(one: Merged | undefined, other: Merged | undefined): boolean {
  if (one === undefined || other === undefined) return false
  return one.listingId === other.listingId && one.position === other.position && one.rank === other.rank
}

/** The copy that is shown is the best of those that were read: at least `count` of every source. */
function copyJudge({ sequence, plan: { outer, inner, registries }, question, count }: Expected) {
  const routes = ranked(outer)
  // Listings that no gateway shows are read all the same, and a gateway may repeat some by other copies.
  const counts = routes.map(({ name }) => {
    if (name === INNER) return inner.length > 1 ? 0 : count
    return count - registries.find((registry) => registry.name === name)!.odd.oversized
  })
  const sizes = routes.map(() => 0)
  for (const { copies } of sequence) for (const { rank } of copies) sizes[rank]!++
  const isWhole = routes.map(({ mode }, rank) => isReadFully(mode, question) || sizes[rank]! < counts[rank]!)
  const namesakes = Map.groupBy(sequence, ({ listingId }) => listingId)
  return (item: Shown, { copies, listingId, key }: Merged): string[] => {
    const isRead = ({ rank, index }: Merged['copies'][number]): boolean =>
      isWhole[rank]! || index < counts[rank]!
    // A gateway that is read live shows the best of the copies that it has read.
    const own = copies.find(({ registry }) => sourceOf(registry) === sourceOf(item.registry))!
    const best = copies.find(isRead)
    if (best !== undefined && best.rank < own.rank)
      return [`${key} is shown of ${own.registry}, but ${best.registry} is better`]
    if (inner.length > 0 || !copies.every(isRead)) return []
    const others = copies.slice(1).map(({ registry }) => registry)
    const differs = copies.some(({ version }) => !isSameOffer(version, copies[0]!.version))
    const conflict = namesakes.get(listingId)!.length > 1
    return [
      ...(String(item.alsoIn) === String(others) ? [] : [`${key} is also in ${others}, not ${item.alsoIn}`]),
      ...(item.differs === differs ? [] : [`${key} differs: ${item.differs}`]),
      ...(item.conflict === conflict || !isWhole.every(Boolean)
        ? []
        : [`${key} conflicts: ${item.conflict}`]),
    ]
  }
}

function sourceOf(registry: string): string {
  return registry.split('/', 1)[0]!
}

function isSameOffer({ terms: a }: Version, { terms: b }: Version): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
