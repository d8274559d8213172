import type { ListingStatus } from '../domain/listing.ts'
import type { Criterion, Test } from '../filter-spec/criteria.ts'
import type { OnMissing } from '../filter-spec/filter.ts'
import { type Bitset, bitCount, bitset, dropAll, dropAllExcept, keepAll } from './bitset.ts'
import type { Block } from './block.ts'
import type { Column } from './column.ts'
import type { Posting } from './posting.ts'

/** What a query asks of each block. */
export type Conditions = {
  /** `null` asks for every status. */
  status: ListingStatus | null
  publisherId: number | null
  criteria: readonly { column: number; criterion: Criterion }[]
}

/** Sets of the size of a block that a query works in. Overwritten by every block. */
export type Scratch = { result: Bitset; union: Bitset }

export const scratchFor = (slots: number): Scratch => ({ result: bitset(slots), union: bitset(slots) })

/** The slots of a block that meet the conditions, valid until the scratch is used again, and how many. */
export type Match = { slots: Bitset; count: number }

/**
 * Bit operations only, the most selective condition first. `protocol.md` 1.14 is what they mean; `evaluate.ts` says
 * the same for one document.
 */
export const matchBlock = (block: Block, conditions: Conditions, scratch: Scratch): Match => {
  const { status } = conditions
  const slots = status === null ? block.live : block.byStatus[status]
  const count = status === null ? block.liveCount : block.counts[status]
  if (count === 0) return { slots, count }
  const steps = stepsFor(block, conditions)
  if (steps.length === 0) return { slots, count }
  const { result, union } = scratch
  if (steps[0]!.most === 0) return { slots: result.fill(0), count: 0 }
  result.set(slots)
  for (const step of steps) step.narrow(result, union)
  return { slots: result, count: bitCount(result) }
}

/** One condition, ready for one block: at most how many slots meet it, and how to drop all others from a set. */
type Step = { most: number; narrow: (set: Bitset, union: Bitset) => void }

const stepsFor = (block: Block, { publisherId, criteria }: Conditions): Step[] => {
  const steps: Step[] = []
  if (publisherId !== null) steps.push(oneOf(block.publishers.get(publisherId)))
  for (const { column, criterion } of criteria) {
    const step = stepFor(block, block.columns[column]!, criterion)
    if (step !== null) steps.push(step)
  }
  return steps.sort((a, b) => a.most - b.most)
}

/** `null` where every slot passes. */
const stepFor = (block: Block, column: Column, { test, onMissing }: Criterion): Step | null => {
  const missing = onMissing === 'pass' ? block.slots - column.presentCount : 0
  switch (test.op) {
    case 'in':
      return inStep(column, column.values.among(test.values), onMissing, missing)
    case 'not_in':
      return notInStep(column, column.values.among(test.values), onMissing, missing)
    case 'range':
      return rangeStep(column, test, onMissing, missing)
    case 'exists':
      return existsStep(column, test.wanted, onMissing, missing)
  }
}

const inStep = (column: Column, postings: Posting[], onMissing: OnMissing, missing: number): Step => {
  if (onMissing === 'fail' && postings.length <= 1) return oneOf(postings[0])
  return {
    most: missing + sumOf(postings),
    narrow: (set, union) => {
      keepUnion(set, unionOf(postings, union), column, onMissing)
    },
  }
}

const notInStep = (
  column: Column,
  postings: Posting[],
  onMissing: OnMissing,
  missing: number,
): Step | null => {
  if (onMissing === 'pass' && postings.length === 0) return null
  return {
    most: missing + column.presentCount,
    narrow: (set) => {
      for (const posting of postings) posting.dropFrom(set)
      if (onMissing === 'fail') keepAll(set, column.present)
    },
  }
}

const rangeStep = (
  column: Column,
  { low, high }: Test & { op: 'range' },
  onMissing: OnMissing,
  missing: number,
): Step => ({
  most: missing + (column.ranges === null ? 0 : column.presentCount),
  narrow: (set, union) => {
    union.fill(0)
    keepUnion(set, column.ranges?.within(low, high, union) ?? union, column, onMissing)
  },
})

const existsStep = (column: Column, wanted: boolean, onMissing: OnMissing, missing: number): Step | null => {
  if (wanted && onMissing === 'pass') return null
  return wanted
    ? { most: column.presentCount, narrow: (set) => keepAll(set, column.present) }
    : {
        most: missing,
        narrow: (set) => (onMissing === 'pass' ? dropAll(set, column.present) : void set.fill(0)),
      }
}

const oneOf = (posting: Posting | undefined): Step => ({
  most: posting?.count ?? 0,
  narrow: (set, union) => keepAll(set, unionOf(posting === undefined ? [] : [posting], union)),
})

/** Keeps what is in the union and, where missing passes, what is missing. */
const keepUnion = (set: Bitset, union: Bitset, column: Column, onMissing: OnMissing): void =>
  onMissing === 'pass' ? dropAllExcept(set, column.present, union) : keepAll(set, union)

/** The only posting's own set, where it has one; else a set made of all of them in `union`. */
const unionOf = (postings: readonly Posting[], union: Bitset): Bitset => {
  const only = postings.length === 1 ? postings[0]!.bits : null
  if (only !== null) return only
  union.fill(0)
  for (const posting of postings) posting.addTo(union)
  return union
}

const sumOf = (postings: readonly Posting[]): number =>
  postings.reduce((sum, posting) => sum + posting.count, 0)
