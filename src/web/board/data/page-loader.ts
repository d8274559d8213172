import { type Identity, SeenListings } from '../../../domain/listing-identity.ts'
import { SingleFlight } from '../../../domain/single-flight.ts'
import type { SourceReport } from '../../../wire/source.ts'
import { RequestFault } from '../../common/request-fault.ts'
import { type Envelope, readEnvelope } from './envelope.ts'
import { type Row, readRow } from './listing-row.ts'

/** Of the table, and of a request. */
export const PAGE_ROWS = 100
const MAX_LIMIT = 200
export const MAX_ROWS = 10_000

export type WalkState = {
  phase: 'reading' | 'more' | 'end' | 'failed'
  rows: readonly Row[]
  /** `null` before the first answer. */
  total: number | null
  isComplete: boolean
  /** The worst report of each source; `null` at a plain Registry, and before the first answer. */
  sources: readonly SourceReport[] | null
  fault: RequestFault | null
  readAt: Date | null
}

export const NOTHING_READ: WalkState = {
  phase: 'reading',
  rows: [],
  total: null,
  isComplete: true,
  sources: null,
  fault: null,
  readAt: null,
}

type WalkOptions = {
  read: (paging: string, signal: AbortSignal) => Promise<Uint8Array>
  onChange: (state: WalkState) => void
}

/** Pages by cursor at a gateway, by offset at a plain Registry. */
export class Walk {
  readonly #options: WalkOptions
  readonly #stopped = new AbortController()
  readonly #seen = new SeenListings()
  #state = NOTHING_READ
  #received = 0
  #cursor: string | null = null
  readonly #reads = new SingleFlight((limit: number) => this.#read(limit))

  constructor(options: WalkOptions) {
    this.#options = options
  }

  /** The next page, or the failed one again. Concurrent callers share one request. */
  more(limit = PAGE_ROWS): Promise<void> {
    return this.#reads.join(limit)
  }

  /** Reads until `enough` rows, the end or a failure. Resolves to the rows held. */
  async until(enough: number): Promise<number> {
    await this.#reads.current
    while (this.#state.phase === 'more' && this.#state.rows.length < Math.min(enough, MAX_ROWS)) {
      await this.more(Math.min(MAX_LIMIT, Math.max(PAGE_ROWS, enough - this.#state.rows.length)))
      await breath()
    }
    return this.#state.rows.length
  }

  stop(): void {
    this.#stopped.abort()
  }

  async #read(limit: number): Promise<void> {
    const { signal } = this.#stopped
    this.#change({ phase: 'reading', fault: null })
    try {
      const paging =
        this.#cursor === null
          ? `limit=${limit}${this.#received === 0 ? '' : `&offset=${this.#received}`}`
          : `limit=${limit}&cursor=${encodeURIComponent(this.#cursor)}`
      const envelope = readEnvelope(await this.#options.read(paging, signal))
      if (!signal.aborted) this.#take(envelope)
    } catch (cause) {
      if (signal.aborted) return // the question has changed
      const fault = cause instanceof RequestFault ? cause : new RequestFault(0, NOT_UNDERSTOOD, { cause })
      this.#change({ phase: 'failed', fault })
    }
  }

  #take(envelope: Envelope): void {
    const { items, total, isComplete, sources, nextCursor } = envelope
    this.#received += items.length
    this.#cursor = nextCursor
    // By offset, a page repeats what new listings moved down; by cursor, listings with copies far apart.
    const rows = items.map(readRow).filter((row) => this.#seen.add(row.id, identityOf(row)))
    const isMore = sources === null ? items.length > 0 && this.#received < total : nextCursor !== null
    const held = [...this.#state.rows, ...rows]
    this.#change({
      phase: isMore && held.length < MAX_ROWS ? 'more' : 'end',
      rows: held,
      total: this.#state.total ?? total,
      readAt: this.#state.readAt ?? new Date(),
      isComplete: this.#state.isComplete && isComplete,
      sources: sources === null ? null : worst(this.#state.sources ?? [], sources),
    })
  }

  #change(change: Partial<WalkState>): void {
    this.#state = { ...this.#state, ...change }
    this.#options.onChange(this.#state)
  }
}

/** At a plain Registry, ids are unique. */
const identityOf = ({ registry, address, storefrontUrl }: Row): Identity =>
  registry === null || (address === null && storefrontUrl === null)
    ? { publisher: `of ${registry}`, storefrontUrl }
    : { publisher: address, storefrontUrl }

const NOT_UNDERSTOOD = { detail: 'The answer is no list of listings.', sources: [] }

const breath = (): Promise<void> => new Promise((resolve) => setTimeout(resolve))

/** Keeps the counts of the first page, which cover every match; a later page may add faults. */
function worst(before: readonly SourceReport[], now: readonly SourceReport[]): SourceReport[] {
  const known = new Set(before.map(({ registry }) => registry))
  const kept = before.map((old) => {
    const later = now.find(({ registry }) => registry === old.registry)
    return later === undefined || rank(later) <= rank(old) ? old : { ...later, matched: old.matched }
  })
  return [...kept, ...now.filter(({ registry }) => !known.has(registry))]
}

const rank = ({ state }: SourceReport): number => (state === 'loaded' ? 0 : state === 'stale' ? 1 : 2)
