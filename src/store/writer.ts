import type { Micros } from '../domain/timestamp.ts'
import { type Place, type Put, placeOf, type Row, type Rows, type Space, StoreUnavailable } from './rows.ts'

/** Bounds the time and the size of a commit. */
const MAX_BATCH = 128
/** Each failed try means that another process has written. */
const MAX_TRIES = 100

/** What the rules of one batch read and put. */
export class Draft {
  readonly puts = new Map<Place, Put>()
  readonly missing = new Set<Place>()
  readonly #read: ReadonlyMap<Place, Row | null>
  #now: Micros

  /** @param now later than the time of every row */
  constructor(read: ReadonlyMap<Place, Row | null>, now: Micros) {
    this.#read = read
    this.#now = now
  }

  /** @throws Error for a row that was not read: it is, and the rules run again */
  get(space: Space, key: string): Row | null {
    const place = placeOf(space, key)
    const put = this.puts.get(place)
    if (put !== undefined) return put.value === null ? null : { ...put, value: put.value }
    const row = this.#read.get(place)
    if (row !== undefined) return row
    this.missing.add(place)
    throw new Error(`${place} was not read`)
  }

  /** By the clock of the rows, which only rises. */
  get now(): Micros {
    return this.#now
  }

  /** The time of a row; a later one with each call. */
  tick(): Micros {
    return this.#now++
  }

  put(space: Space, key: string, value: string, at: Micros = this.tick()): void {
    const createdAt = this.get(space, key)?.createdAt ?? at
    this.puts.set(placeOf(space, key), { space, key, value, createdAt, at })
  }

  /** Of a row that is new, or whose earlier one does not matter: it is not read. */
  add(space: Space, key: string, value: string, at: Micros = this.tick()): void {
    this.puts.set(placeOf(space, key), { space, key, value, createdAt: at, at })
  }

  remove(space: Space, key: string): void {
    const row = this.get(space, key)
    if (row !== null) this.puts.set(placeOf(space, key), { ...row, value: null, at: this.tick() })
  }
}

type Rule<T> = (draft: Draft) => T
/** Where they are a function, those known when the batch begins. */
type Places = readonly Place[] | (() => readonly Place[])

type Job = {
  /** Returns how to acknowledge. */
  rule: Rule<() => void>
  places: Places
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
  run<T>(rule: Rule<T>, places: Places = []): Promise<T> {
    return new Promise((resolve, reject) => {
      const acknowledging = (draft: Draft) => {
        const result = rule(draft)
        return () => resolve(result)
      }
      this.#waiting.push({ rule: acknowledging, places, reject })
      this.#running ??= this.#runAll()
    })
  }

  get isIdle(): boolean {
    return this.#running === null
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

  /** Of a rule that fails nothing stays: the others run again. */
  async #apply(all: readonly Job[]): Promise<void> {
    let jobs = all
    const places = new Set(jobs.flatMap(({ places }) => (typeof places === 'function' ? places() : places)))
    let read = [...places]
    let moment = await this.#rows.get(read, true)
    for (let conflicts = 0; conflicts < MAX_TRIES; ) {
      const draft = new Draft(new Map(read.map((place, n) => [place, moment.rows[n]!])), moment.now)
      const failed = new Map<Job, unknown>()
      const acknowledgements = jobs.flatMap((job) => {
        try {
          return [job.rule(draft)]
        } catch (cause) {
          // With rows missing, it runs again.
          if (draft.missing.size === 0) failed.set(job, cause)
          return []
        }
      })
      const puts = [...draft.puts.values()]
      // Only a commit finds out whether rows of an earlier moment still hold.
      const isUnproven = moment.isEarlier && (failed.size > 0 || puts.length === 0)
      if (draft.missing.size > 0 || isUnproven) {
        for (const place of draft.missing) places.add(place)
        read = [...places]
        moment = await this.#rows.get(read)
        continue
      }
      for (const [job, cause] of failed) job.reject(cause)
      jobs = jobs.filter((job) => !failed.has(job))
      if (failed.size > 0) continue
      const later = puts.length === 0 ? null : await this.#rows.commit(moment.end, puts, read)
      if (later === null) {
        for (const acknowledge of acknowledgements) acknowledge()
        return
      }
      moment = later
      conflicts++
    }
    throw new StoreUnavailable('it changes faster than it can be written')
  }
}
