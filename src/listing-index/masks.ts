import type { ListingStatus } from '../domain/listing.ts'
import { keepLatest } from '../domain/remembered.ts'
import { type Bitset, bitset } from './bitset.ts'
import type { LaneSets } from './lane-sets.ts'
import type { Lane, Lanes } from './lanes.ts'
import type { Segment } from './segment.ts'
import type { SourceSet } from './source-set.ts'

/** What a ranking knows of the rows of a segment. */
export type Marks = {
  /** Per row, the number of the set of lanes in which better sources have the listing. */
  under: Uint32Array
  /** Rows that do not exist. */
  out: Bitset
  /** Rows whose `under` is not empty, and rows in `out`. */
  unders: number
  outs: number
  /** Raised with every change. */
  version: number
}

/** Which rows exist for a reader, and which of them compete: the scope of a question without its filters. */
export type Selected = {
  /** Equal for those of the same rows; kept with them, since the name of a thousand sources is long. */
  name: string
  sources: SourceSet
  /** `null`: every status. */
  status: ListingStatus | null
  /** Rows that came through one of these gateways do not exist. */
  via?: readonly string[] | undefined
}

/** Rows of a segment, dead ones among them; `null`: all. `present`: shown, or hidden by better copies. */
export type Mask = { shown: Bitset | null; present: Bitset | null }

type MasksOptions = {
  lanes: Lanes
  sets: LaneSets
  exists: (lane: Lane, selected: Selected) => boolean
  /** Whether a better copy in that lane hides others. */
  hides: (lane: Lane, selected: Selected) => boolean
}

/** Selections whose masks are kept: of each view, and some by name. */
const MAX_SELECTIONS = 64

/** The masks of each selection and segment, until the segment's marks change. */
export class Masks {
  readonly #options: MasksOptions
  /** By name; the latest used one is the last. */
  readonly #selections = new Map<string, Selection>()
  /** A question asks for many masks. */
  #latest: { selected: Selected; selection: Selection } | null = null

  constructor(options: MasksOptions) {
    this.#options = options
  }

  /** @param marks of the segment; `undefined` where it has none */
  of(segment: Segment, marks: Marks | undefined, selected: Selected): Mask {
    return this.#selection(selected).maskOf(segment, marks)
  }

  exists(lane: number, selected: Selected): boolean {
    return this.#selection(selected).exists(lane)
  }

  laneCame(lane: number): void {
    for (const selection of this.#selections.values()) selection.setLane(lane)
  }

  setCame(set: number): void {
    for (const selection of this.#selections.values()) selection.setHit(set)
  }

  #selection(selected: Selected): Selection {
    if (this.#latest?.selected === selected) return this.#latest.selection
    const { name } = selected
    const selection = this.#selections.get(name) ?? new Selection(selected, this.#options)
    keepLatest(this.#selections, name, selection, MAX_SELECTIONS)
    this.#latest = { selected, selection }
    return selection
  }
}

class Selection {
  readonly #selected: Selected
  readonly #options: MasksOptions
  /** By number: 1 for lanes that exist, and for sets with a lane that hides. */
  #lanes: Uint8Array = new Uint8Array(0)
  #hits: Uint8Array = new Uint8Array(0)
  readonly #masks = new WeakMap<Segment, Mask & { version: number }>()

  constructor(selected: Selected, options: MasksOptions) {
    this.#selected = selected
    this.#options = options
    for (let lane = 0; lane < options.lanes.size; lane++) this.setLane(lane)
    for (let set = 0; set < options.sets.size; set++) this.setHit(set)
  }

  exists(lane: number): boolean {
    return this.#lanes[lane] === 1
  }

  setLane(number: number): void {
    const { lanes, exists } = this.#options
    this.#lanes = withRoom(this.#lanes, number)
    const lane = lanes.at(number)
    this.#lanes[number] = lane !== undefined && exists(lane, this.#selected) ? 1 : 0
  }

  setHit(set: number): void {
    const { sets } = this.#options
    this.#hits = withRoom(this.#hits, set)
    this.#hits[set] = sets.at(set).some((lane) => this.#isHiding(lane)) ? 1 : 0
  }

  maskOf(segment: Segment, marks: Marks | undefined): Mask {
    const before = this.#masks.get(segment)
    const version = marks?.version ?? 0
    if (before?.version === version) return before
    const mask = this.#make(segment, marks)
    this.#masks.set(segment, { ...mask, version })
    return mask
  }

  #isHiding(number: number): boolean {
    const lane = this.#options.lanes.at(number)
    return lane !== undefined && this.exists(number) && this.#options.hides(lane, this.#selected)
  }

  #make({ size, lanes, lanesInUse }: Segment, marks: Marks | undefined): Mask {
    const hasAll = lanesInUse.values().every((lane) => this.exists(lane))
    const { unders = 0, outs = 0 } = marks ?? {}
    if (hasAll && unders + outs === 0) return { shown: null, present: null }
    const present = bitset(size)
    const shown = unders === 0 ? present : bitset(size)
    const isIn = this.#lanes
    for (let slot = 0, word = 0; slot < size; word++) {
      let bits = 0
      for (let bit = 0; bit < 32 && slot < size; bit++, slot++) bits |= isIn[lanes[slot]!]! << bit
      present[word] = bits
    }
    if (outs > 0) for (let n = 0; n < present.length; n++) present[n] = present[n]! & ~marks!.out[n]!
    if (unders > 0) this.#removeHidden(present, shown, marks!.under)
    return { shown, present }
  }

  #removeHidden(present: Bitset, shown: Bitset, under: Uint32Array): void {
    const hits = this.#hits
    const size = under.length
    for (let slot = 0, word = 0; slot < size; word++) {
      let bits = 0
      for (let bit = 0; bit < 32 && slot < size; bit++, slot++) bits |= hits[under[slot]!]! << bit
      shown[word] = present[word]! & ~bits
    }
  }
}

function withRoom(array: Uint8Array, number: number): Uint8Array {
  if (number < array.length) return array
  const longer = new Uint8Array(Math.max(64, 2 * number))
  longer.set(array)
  return longer
}
