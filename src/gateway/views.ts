import { identityKey } from '../domain/listing-identity.ts'
import { ANY_STATUS, type ListingQuery } from '../domain/query.ts'
import type { Held, LookUpCopies, ReadWhole, Whole } from '../domain/source/held.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import { FULL_RANGE, type Item } from '../domain/source/reading.ts'
import { SourceError } from '../domain/source/source-error.ts'
import { askSource, withBudget } from './sources.ts'

/** What is known of the copies in one source. */
export type View =
  | { kind: 'held'; held: Held }
  | { kind: 'whole'; whole: Whole }
  /** `presence`: its copy of the listing, `null` where it has none. */
  | { kind: 'looked-up'; lookUp: LookUpCopies; presence: Map<string, Item | null>; left: number }
  /** The source could not be read, so it may have any listing. `isOutage`: another request of the query would fail, too. */
  | { kind: 'unknown'; error: SourceError | null; isOutage: boolean }
  /** The query skips the source, so it decides nothing. */
  | { kind: 'none' }

/** Listings of one query that are looked up at one source. */
const MAX_LOOKED_UP = 2000

/** Reads the sources whole that do not answer from memory, all at once. A source without an answer within half of `budgetMs` is unknown. */
export async function openViews(
  { sources, query }: { sources: readonly NamedSource[]; query: ListingQuery },
  budgetMs: number,
  signal: AbortSignal,
): Promise<View[]> {
  await Promise.all(sources.map(({ held }) => held?.fetch?.(query, signal)))
  const isHeld = ({ held }: NamedSource): boolean => held?.answers(query) === true
  const heldViews = (): View[] => sources.map((source) => (isHeld(source) ? heldView(source) : NO_VIEW))
  if (sources.length === 1 || sources.every(isHeld)) return heldViews()
  const views = await withBudget(budgetMs / 2, signal, (half) =>
    Promise.all(sources.map((source) => (isHeld(source) ? heldView(source) : readView(source, query, half)))),
  )
  // Listings may have arrived meanwhile.
  const held = heldViews()
  return views.map((view, rank) => (held[rank] === NO_VIEW ? view : held[rank]!))
}

const NO_VIEW: View = { kind: 'none' }

function heldView({ held }: NamedSource): View {
  return { kind: 'held', held: held! }
}

async function readView(source: NamedSource, query: ListingQuery, signal: AbortSignal): Promise<View> {
  const { readWhole = readAll(source), lookUp } = source
  // What was read for a query answers that very query.
  const { result } = await askSource(() => readWhole(query, signal), signal)
  if (result instanceof SourceError) {
    const { state, isOutage } = result.traits
    if (state === 'skipped') return NO_VIEW
    // Once the signal has aborted, this query had too little time.
    return { kind: 'unknown', error: result, isOutage: isOutage && !signal.aborted }
  }
  if (result !== null) return { kind: 'whole', whole: result }
  return lookUp === undefined
    ? { kind: 'unknown', error: null, isOutage: false }
    : { kind: 'looked-up', lookUp, presence: new Map(), left: MAX_LOOKED_UP }
}

function readAll({ read }: NamedSource): ReadWhole {
  return async ({ status, via, caching, trace }, signal) => {
    const query = { ...ANY_STATUS, status, ...(via && { via }), caching, trace }
    const { listings } = await read(query, FULL_RANGE, signal)
    const byId = Map.groupBy(listings, ({ listingId }) => listingId)
    return { find: (listingId) => byId.get(listingId) ?? [], ids: () => byId.keys() }
  }
}

/** Asks the source about the copies that it was not asked about before. */
export async function lookUpIn(
  view: View & { kind: 'looked-up' },
  copies: readonly Item[],
  query: ListingQuery,
  signal: AbortSignal,
): Promise<void> {
  const unknown = copies.filter((item) => !view.presence.has(lookUpKey(item))).slice(0, view.left)
  if (unknown.length === 0) return
  view.left -= unknown.length
  const results = await view.lookUp(unknown, query, signal)
  for (const [n, item] of unknown.entries()) {
    const copy = results[n]
    if (copy !== undefined) view.presence.set(lookUpKey(item), copy)
  }
}

export function lookUpKey(item: Item): string {
  return `${item.listingId}\n${identityKey(item)}`
}
