import { type PageReport, PageWalk, readPageReport } from '../../../client/page-walk.ts'
import { ProblemError } from '../../../client/problem-error.ts'
import { SingleFlight } from '../../../domain/single-flight.ts'
import { JsonScanner } from '../../../json/scanner.ts'
import { parseJson } from '../../../json/value.ts'
import type { SourceReport, SourcesCounted } from '../../../wire/source.ts'
import { type Hints, NO_HINTS, readHints } from './hints.ts'
import { decodeUtf8, type ListingRow, readListingRow } from './listing-row.ts'

/** Of the table, and of a request. */
export const PAGE_ROWS = 100
const MAX_LIMIT = 200
export const MAX_ROWS = 10_000

export type LoaderState = {
  phase: 'loading' | 'more' | 'end' | 'failed'
  rows: readonly ListingRow[]
  /** `null` before the first answer. */
  total: number | null
  isComplete: boolean
  /** Whether `rows` are all that match. */
  isWhole: boolean
  /** The worst report of each source; `null` at a plain Registry, and before the first answer. */
  sources: readonly SourceReport[] | null
  /** Of many sources, those that `sources` does not name. */
  sourcesCounted: SourcesCounted | undefined
  /** Of the first answer. */
  hints: Hints
  error: ProblemError | null
  /** When the first page arrived, in milliseconds since the Unix epoch. */
  loadedAt: number | null
}

export const INITIAL_STATE: LoaderState = {
  phase: 'loading',
  rows: [],
  total: null,
  isComplete: true,
  isWhole: false,
  sources: null,
  sourcesCounted: undefined,
  hints: NO_HINTS,
  error: null,
  loadedAt: null,
}

type LoaderOptions = {
  fetchPage: (paging: string, signal: AbortSignal) => Promise<Uint8Array>
  onChange: (state: LoaderState) => void
}

/** Pages by cursor at a gateway, by offset at a plain Registry. */
export class PageLoader {
  readonly #options: LoaderOptions
  readonly #stopped = new AbortController()
  readonly #walk = new PageWalk()
  readonly #loads = new SingleFlight((limit: number) => this.#load(limit))
  #state = INITIAL_STATE
  #target = 0

  constructor(options: LoaderOptions) {
    this.#options = options
  }

  /** The next page, or the failed one again. Concurrent callers share one request. */
  loadNext(limit = PAGE_ROWS): Promise<void> {
    return this.#loads.join(limit)
  }

  /** Loads until there are `count` rows, or all. Resolves to whether there are: not after a failure or a stop. */
  async loadUntil(count: number): Promise<boolean> {
    await this.#loads.current
    const most = Math.min(count, MAX_ROWS)
    this.#target = Math.max(this.#target, most)
    while (this.#isWanted()) {
      await this.loadNext(Math.min(MAX_LIMIT, Math.max(PAGE_ROWS, count - this.#state.rows.length)))
      await yieldToBrowser()
    }
    const { isWhole, rows } = this.#state
    return !this.#stopped.signal.aborted && (isWhole || rows.length >= most)
  }

  /** Requests the failed page again, and then what was wanted of the later ones. */
  async retry(): Promise<void> {
    await this.loadNext()
    await this.loadUntil(this.#target)
  }

  /** Whether to load another page. While it is so, the phase is `loading`, between pages as well. */
  #isWanted(): boolean {
    const { phase, isWhole, rows } = this.#state
    return !this.#stopped.signal.aborted && phase !== 'failed' && !isWhole && rows.length < this.#target
  }

  stop(): void {
    this.#stopped.abort()
  }

  async #load(limit: number): Promise<void> {
    const { signal } = this.#stopped
    this.#change({ phase: 'loading', error: null })
    try {
      const envelope = readEnvelope(await this.#options.fetchPage(this.#walk.paging(limit), signal))
      if (!signal.aborted) this.#append(envelope)
    } catch (cause) {
      if (signal.aborted) return // the query has changed
      const error = cause instanceof ProblemError ? cause : new ProblemError(0, NOT_A_LIST, { cause })
      this.#change({ phase: 'failed', error })
    }
  }

  #append(envelope: Envelope): void {
    const listings = envelope.items.map(readListingRow)
    const copies = listings.map((row) => ({ ...row, listingId: row.id, publisher: row.address }))
    const { isNew, page } = this.#walk.take(copies, envelope)
    const { total, isComplete, sources } = page
    const added = listings.filter((_, n) => isNew[n])
    const { isEnd } = this.#walk
    const rows = [...this.#state.rows, ...added]
    const reports = sources === null ? null : worst(this.#state.sources ?? [], sources)
    const counted = this.#state.sourcesCounted
    const named = (reports?.length ?? 0) - (this.#state.sources?.length ?? 0)
    this.#change({
      phase: isEnd || rows.length >= MAX_ROWS ? 'end' : rows.length < this.#target ? 'loading' : 'more',
      rows,
      total: this.#state.total ?? total,
      isWhole: isEnd,
      hints: this.#state.loadedAt === null ? envelope.hints : this.#state.hints,
      loadedAt: this.#state.loadedAt ?? Date.now(),
      isComplete: this.#state.isComplete && isComplete,
      sources: reports,
      // A source that a later page names was counted before.
      sourcesCounted: counted
        ? { ...counted, loaded: Math.max(0, counted.loaded - named) }
        : page.sourcesCounted,
    })
  }

  #change(change: Partial<LoaderState>): void {
    this.#state = { ...this.#state, ...change }
    this.#options.onChange(this.#state)
  }
}

const NOT_A_LIST = { detail: 'The answer is not a list of listings.' }

const yieldToBrowser = (): Promise<void> => new Promise((resolve) => setTimeout(resolve))

/** Keeps the counts of the first page, which cover every match; a later page may add failures. */
function worst(before: readonly SourceReport[], now: readonly SourceReport[]): SourceReport[] {
  const names = new Set(before.map(({ registry }) => registry))
  const updated = before.map((old) => {
    const later = now.find(({ registry }) => registry === old.registry)
    return later === undefined || rank(later) <= rank(old) ? old : { ...later, matched: old.matched }
  })
  return [...updated, ...now.filter(({ registry }) => !names.has(registry))]
}

const rank = ({ state }: SourceReport): number => (state === 'loaded' ? 0 : state === 'stale' ? 1 : 2)

/** Listings are the bytes that were published. */
type Envelope = PageReport & { items: readonly Uint8Array[]; hints: Hints }

const OPENING = '{"items":'

/** @throws SyntaxError */
export function readEnvelope(bytes: Uint8Array): Envelope {
  const isEnvelope = decodeUtf8(bytes.subarray(0, OPENING.length)) === OPENING
  const array = isEnvelope ? new JsonScanner(bytes).arrayAt(OPENING.length) : null
  if (array === null) throw new SyntaxError('not a list of listings')
  const rest = `${OPENING}[]${decodeUtf8(bytes.subarray(array.end))}`
  return {
    ...readPageReport(parseJson(rest)),
    hints: readHints(rest),
    items: array.elements.map(({ start, end }) => bytes.subarray(start, end)),
  }
}
