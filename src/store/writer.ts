import type { Micros } from '../domain/timestamp.ts'
import { type Place, type Put, placeOf, type Row, type Rows, type Space, StoreUnavailable } from './rows.ts'

/** Bounds the time and the size of a commit. */
const MAX_BATCH = 128
/** Each failed try means that another process has written. */
const MAX_TRIES = 100

/** What rules of the market read and write. */
export class Draft {
  readonly #batch: Batch
  readonly #puts = new Map<Place, Put>()

  constructor(batch: Batch) {
    this.#batch = batch
  }

  /** @throws MissingRow: it is read, and the rule runs again */
  get(space: Space, key: string): Row | null {
    const place = placeOf(space, key)
    const put = this.#puts.get(place)
    return put === undefined ? this.#batch.get(place) : rowOf(put)
  }

  /** By the clock of the rows, which only rises. */
  get now(): Micros {
    return this.#batch.time
  }

  /** The time of a row; a later one with each call. */
  tick(): Micros {
    return this.#batch.time++
  }

  put(space: Space, key: string, value: string, at: Micros = this.tick()): void {
    const createdAt = this.get(space, key)?.createdAt ?? at
    this.#puts.set(placeOf(space, key), { space, key, value, createdAt, at })
  }

  remove(space: Space, key: string): void {
    const row = this.get(space, key)
    if (row !== null) this.#puts.set(placeOf(space, key), { ...row, value: null, at: this.tick() })
  }

  keep(): void {
    for (const [place, put] of this.#puts) this.#batch.puts.set(place, put)
  }
}

const rowOf = (put: Put): Row | null => (put.value === null ? null : { ...put, value: put.value })

class MissingRow extends Error {}

/** The rows of a batch as they were read, and what its writes have put. */
class Batch {
  readonly read: ReadonlyMap<Place, Row | null>
  readonly puts = new Map<Place, Put>()
  readonly missing = new Set<Place>()
  time: Micros
  readonly end: Micros

  constructor(read: ReadonlyMap<Place, Row | null>, time: Micros, end: Micros) {
    this.read = read
    this.time = time
    this.end = end
  }

  get(place: Place): Row | null {
    const put = this.puts.get(place)
    if (put !== undefined) return rowOf(put)
    const row = this.read.get(place)
    if (row !== undefined) return row
    this.missing.add(place)
    throw new MissingRow(place)
  }
}

type Rule<T> = (draft: Draft) => T

type Job = {
  rule: Rule<() => void>
  places: readonly Place[]
  reject: (reason: unknown) => void
}

/** Applies rules to rows: those of one turn, and of the time that a commit takes, in one commit. */
export class Writer {
  readonly #rows: Pick<Rows, 'get' | 'commit'>
  readonly #waiting: Job[] = []
  #running: Promise<void> | null = null

  constructor(rows: Pick<Rows, 'get' | 'commit'>) {
    this.#rows = rows
  }

  /**
   * Resolves when what the rule has put is durable. It may run more than once, and takes effect once.
   * @param places that it will read, as far as they are known; they are read at once
   */
  run<T>(rule: Rule<T>, places: readonly Place[] = []): Promise<T> {
    return new Promise((resolve, reject) => {
      const acknowledging = (draft: Draft) => {
        const result = rule(draft)
        return () => resolve(result)
      }
      this.#waiting.push({ rule: acknowledging, places, reject })
      this.#running ??= this.#runAll()
    })
  }

  async drained(): Promise<void> {
    await this.#running
  }

  async #runAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      await new Promise(setImmediate)
      await this.#settle(this.#waiting.splice(0, MAX_BATCH))
    }
    this.#running = null
  }

  /** When a batch is refused, each of its writes is tried alone. */
  async #settle(jobs: readonly Job[]): Promise<void> {
    try {
      await this.#apply(jobs)
    } catch (cause) {
      const isUnknown = cause instanceof StoreUnavailable && !cause.isRefusal
      if (jobs.length === 1 || isUnknown) for (const { reject } of jobs) reject(cause)
      else for (const job of jobs) await this.#settle([job])
    }
  }

  async #apply(jobs: readonly Job[]): Promise<void> {
    const places = new Set<Place>()
    for (const job of jobs) for (const place of job.places) places.add(place)
    for (let conflicts = 0; conflicts < MAX_TRIES; ) {
      const batch = await this.#read([...places])
      const settle = jobs.flatMap((job) => outcomeOf(job, batch))
      for (const place of batch.missing) places.add(place)
      if (batch.missing.size > 0) continue
      const puts = [...batch.puts.values()]
      if (puts.length === 0 || (await this.#rows.commit(batch.end, puts)) === 'committed') {
        for (const acknowledge of settle) acknowledge()
        return
      }
      conflicts++
    }
    throw new StoreUnavailable('it changes faster than it can be written')
  }

  async #read(places: readonly Place[]): Promise<Batch> {
    const { rows, now, end } = await this.#rows.get(places)
    return new Batch(new Map(places.map((place, n) => [place, rows[n]!])), now, end)
  }
}

/** How to acknowledge; nothing while rows are missing. */
function outcomeOf({ rule, reject }: Job, batch: Batch): (() => void)[] {
  const draft = new Draft(batch)
  try {
    const acknowledge = rule(draft)
    draft.keep()
    return [acknowledge]
  } catch (cause) {
    return cause instanceof MissingRow ? [] : [() => reject(cause)]
  }
}
