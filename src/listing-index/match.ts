import type { ListingStatus } from '../domain/listing.ts'
import type { Criterion, FilterTest } from '../filter-spec/criteria.ts'
import { type Bitset, bitset } from './bitset.ts'
import type { Block } from './block.ts'
import type { Column } from './column.ts'
import { intersect, intersectFew, type Operand } from './intersect.ts'
import type { Posting } from './posting.ts'

export type Conditions = {
  status: ListingStatus | null
  publisherId: number | null
  criteria: readonly { column: number; criterion: Criterion }[]
}

/** Working sets of the size of a block, overwritten by each block. */
export class Scratch {
  readonly result: Bitset
  readonly #slots: number
  readonly #sets: Bitset[] = []

  constructor(slots: number) {
    this.#slots = slots
    this.result = bitset(slots)
  }

  /** Keeps its previous content. */
  set(n: number): Bitset {
    this.#sets[n] ??= bitset(this.#slots)
    return this.#sets[n]
  }
}

/** Valid until the scratch is used again. */
type Match = { slots: Bitset; count: number }

/** As `evaluate.ts` does per document. A condition without matches ends it before any set is read. */
export function matchBlock(block: Block, conditions: Conditions, scratch: Scratch): Match {
  const { status } = conditions
  const slots = status === null ? block.live : block.byStatus[status]
  const count = status === null ? block.liveCount : block.counts[status]
  const sides = count === 0 ? [] : sidesOf(block, conditions)
  if (sides.length === 0) return { slots, count }
  const { result } = scratch
  if (sides.some(({ most }) => most === 0)) return { slots: result.fill(0), count: 0 }
  const few = fewestOf(sides)
  const operands = sides
    .filter((side) => side !== few)
    .map(({ bits, flip, unless }, n): Operand => ({ bits: bits(scratch.set(n)), flip, unless }))
  if (!few) return { slots: result, count: intersect(result, slots, operands) }
  operands.unshift({ bits: slots, flip: 0, unless: null })
  return { slots: result, count: intersectFew(result, few.few!, operands) }
}

/** The smallest side that is kept as a list. */
function fewestOf(sides: readonly Side[]): Side | null {
  let fewest: Side | null = null
  for (const side of sides) {
    if (side.few !== null && (fewest === null || side.most < fewest.most)) fewest = side
  }
  return fewest
}

type Side = Omit<Operand, 'bits'> & {
  /** Upper bound of its slots. */
  most: number
  /** An existing set, or `spare` filled. */
  bits: (spare: Bitset) => Bitset
  /** The same as a list, where slots are few. */
  few: Posting | null
}

function sidesOf(block: Block, { publisherId, criteria }: Conditions): Side[] {
  const sides: Side[] = []
  if (publisherId !== null) sides.push(anyOf(postingsOf(block.publishers.get(publisherId))))
  for (const { column, criterion } of criteria) {
    sides.push(...sidesFor(block.columns[column]!, criterion, block.slots))
  }
  return sides
}

/** Empty where every slot passes. */
function sidesFor(column: Column, { test, onMissing }: Criterion, slots: number): Side[] {
  if (onMissing === 'fail') return sidesWherePresent(column, test)
  const missing = slots - column.presentCount
  switch (test.op) {
    case 'in':
      return [orMissing(column, missing, anyOf(column.values.among(test.values)))]
    case 'not_in':
      return [noneOf(column.values.among(test.values), slots)]
    case 'range':
      return [orMissing(column, missing, within(column, test))]
    case 'exists':
      return test.wanted
        ? []
        : [{ most: missing, bits: () => column.present, flip: -1, unless: null, few: null }]
  }
}

function sidesWherePresent(column: Column, test: FilterTest): Side[] {
  const present: Side = {
    most: column.presentCount,
    bits: () => column.present,
    flip: 0,
    unless: null,
    few: null,
  }
  switch (test.op) {
    case 'in':
      return [anyOf(column.values.among(test.values))]
    case 'not_in':
      return [present, noneOf(column.values.among(test.values), column.presentCount)]
    case 'range':
      return [within(column, test)]
    case 'exists':
      return [test.wanted ? present : anyOf([])]
  }
}

const anyOf = (postings: readonly Posting[]): Side => ({
  most: postings.reduce((sum, posting) => sum + posting.count, 0),
  bits: (spare) => union(postings, spare),
  flip: 0,
  unless: null,
  few: postings.length === 1 && postings[0]!.bits === null ? postings[0]! : null,
})

const noneOf = (postings: readonly Posting[], most: number): Side => ({
  most,
  bits: (spare) => union(postings, spare),
  flip: -1,
  unless: null,
  few: null,
})

const within = ({ ranges, presentCount }: Column, { low, high }: FilterTest & { op: 'range' }): Side => ({
  most: ranges === null ? 0 : presentCount,
  bits: (spare) => ranges?.within(low, high, spare.fill(0)) ?? spare.fill(0),
  flip: 0,
  unless: null,
  few: null,
})

const orMissing = ({ present }: Column, missing: number, side: Side): Side => ({
  ...side,
  most: missing + side.most,
  unless: present,
  few: null,
})

/** A single posting's own set, or the union in `spare`. */
function union(postings: readonly Posting[], spare: Bitset): Bitset {
  const only = postings.length === 1 ? postings[0]!.bits : null
  if (only !== null) return only
  spare.fill(0)
  for (const posting of postings) posting.addTo(spare)
  return spare
}

const postingsOf = (posting: Posting | undefined): Posting[] => (posting === undefined ? [] : [posting])
