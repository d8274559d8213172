import type { ListingStatus } from '../domain/listing.ts'
import type { Origin } from '../domain/source/item.ts'

/** Of which source, of which status and by which path: rows of one lane exist for the same readers. */
export type Lane = {
  source: number
  status: ListingStatus
  /** Ids of the gateways that its rows came through; `null`: of too many paths to keep them apart. */
  via: readonly string[] | null
  /** Whether a gateway reports its rows as `unchecked`. */
  isUnchecked: boolean
}

/** A lane is 16 bits of each row. */
const MAX_LANES = 65_536
/** Paths of one source that are kept apart: gateways choose them. */
const MAX_PATHS = 64

/** Numbers of lanes. They are in use until their source is forgotten, and then mean another lane. */
export class Lanes {
  readonly #lanes: (Lane | undefined)[] = []
  readonly #numbers = new Map<string, number>()
  readonly #bySource = new Map<number, number[]>()
  readonly #free: number[] = []
  readonly #onNumber: (number: number) => void

  /** @param onNumber called for each lane that is numbered from now on */
  constructor(onNumber: (number: number) => void) {
    this.#onNumber = onNumber
  }

  /** The lane of such a row. @throws RangeError beyond `MAX_LANES` */
  numberOf(source: number, status: ListingStatus, origin?: Origin): number {
    const isUnchecked = (origin?.unchecked?.length ?? 0) > 0
    const path = this.#pathOf(source, origin?.via ?? NO_PATH)
    const name = `${source} ${status}${isUnchecked ? ' unchecked' : ''}${path}`
    const number = this.#numbers.get(name)
    if (number !== undefined) return number
    const via = path === '' ? NO_PATH : path === ANY_PATH ? null : origin!.via!
    return this.#add(name, { source, status, via, isUnchecked })
  }

  at(number: number): Lane {
    return this.#lanes[number]!
  }

  /** Ever numbered: all numbers are less. */
  get size(): number {
    return this.#lanes.length
  }

  ofSource(source: number): readonly number[] {
    return this.#bySource.get(source) ?? []
  }

  /** No row of the source is left. */
  forget(source: number): void {
    for (const number of this.ofSource(source)) {
      this.#lanes[number] = undefined
      this.#free.push(number)
    }
    for (const [name, number] of this.#numbers)
      if (this.#lanes[number] === undefined) this.#numbers.delete(name)
    this.#bySource.delete(source)
  }

  #pathOf(source: number, via: readonly string[]): string {
    if (via.length === 0) return ''
    const path = ` ${JSON.stringify(via)}`
    const isKnown = LISTED.some((about) => this.#numbers.has(`${source} ${about}${path}`))
    return isKnown || this.ofSource(source).length < MAX_PATHS ? path : ANY_PATH
  }

  #add(name: string, lane: Lane): number {
    const number = this.#free.pop() ?? this.#lanes.length
    if (number === MAX_LANES) throw new RangeError(`the index has more than ${MAX_LANES} sources and paths`)
    this.#lanes[number] = lane
    this.#numbers.set(name, number)
    this.#bySource.set(lane.source, [...this.ofSource(lane.source), number])
    this.#onNumber(number)
    return number
  }
}

const NO_PATH: readonly string[] = []
const ANY_PATH = ' any path'
/** Gateways list open listings. */
const LISTED = ['open', 'open unchecked']
