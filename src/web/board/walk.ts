import { type Identity, SeenListings } from '../../domain/listing-identity.ts'
import { RequestFault } from '../common/request-fault.ts'
import type { SourceReport } from '../common/source-report.ts'
import { type Envelope, readEnvelope } from './envelope.ts'
import { type Row, readRow } from './row.ts'

/** Listings of one page of the table, and of a request. */
export const PAGE_ROWS = 100
/** Most that one request may ask for. */
const MAX_LIMIT = 200
/** More are not held: a narrower question serves better. */
export const MAX_ROWS = 10_000

export type WalkState = {
  /** `more`: there is more to read. */
  phase: 'reading' | 'more' | 'end' | 'failed'
  rows: readonly Row[]
  /** Matches, as far as they are known; `null` before the first answer. */
  total: number | null
  isComplete: boolean
  /** Of each source the worst that any page has said of it; `null` at a plain Registry, and before the first answer. */
  sources: readonly SourceReport[] | null
  fault: RequestFault | null
  /** When the first page came; `null` before. */
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
  /** Answers the question with these parameters of paging. */
  read: (paging: string, signal: AbortSignal) => Promise<Uint8Array>
  onChange: (state: WalkState) => void
}

/** Reads the answer to one question page by page: by cursor at a gateway, by offset at a plain Registry. */
export class Walk {
  readonly #options: WalkOptions
  readonly #stopped = new AbortController()
  readonly #seen = new SeenListings()
  #state = NOTHING_READ
  #received = 0
  #cursor: string | null = null
  #reading: Promise<void> | null = null

  constructor(options: WalkOptions) {
    this.#options = options
  }

  /** Reads one page more, or the failed one again. Whoever asks while that goes on waits for the same. */
  more(limit = PAGE_ROWS): Promise<void> {
    this.#reading ??= this.#read(limit).finally(() => {
      this.#reading = null
    })
    return this.#reading
  }

  /** Reads on until there is no more, `enough` rows are held or something fails. Resolves to the rows held. */
  async until(enough: number): Promise<number> {
    await this.#reading
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
      if (signal.aborted) return // nobody looks at this question any more
      const fault = cause instanceof RequestFault ? cause : new RequestFault(0, NOT_UNDERSTOOD, { cause })
      this.#change({ phase: 'failed', fault })
    }
  }

  #take(envelope: Envelope): void {
    const { items, total, isComplete, sources, nextCursor } = envelope
    this.#received += items.length
    this.#cursor = nextCursor
    // By offset, a page repeats what moved down behind new listings; by cursor, a listing whose copies are far apart.
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

/** A plain Registry has an id once. */
const identityOf = ({ registry, address, storefrontUrl }: Row): Identity =>
  registry === null || (address === null && storefrontUrl === null)
    ? { publisher: `of ${registry}`, storefrontUrl }
    : { publisher: address, storefrontUrl }

const NOT_UNDERSTOOD = { detail: 'The answer is no list of listings.', sources: [] }

/** Lets the browser draw and take input between two pages. */
const breath = (): Promise<void> => new Promise((resolve) => setTimeout(resolve))

/** The first page counts every match; a later one may know of a fault that those before it did not have. */
const worst = (before: readonly SourceReport[], now: readonly SourceReport[]): SourceReport[] => {
  const known = new Set(before.map(({ registry }) => registry))
  const kept = before.map((old) => {
    const later = now.find(({ registry }) => registry === old.registry)
    return later === undefined || rank(later) <= rank(old) ? old : { ...later, matched: old.matched }
  })
  return [...kept, ...now.filter(({ registry }) => !known.has(registry))]
}

const rank = ({ state }: SourceReport): number => (state === 'loaded' ? 0 : state === 'stale' ? 1 : 2)
