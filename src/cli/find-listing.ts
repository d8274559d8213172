import { ANONYMOUS } from '../domain/api-key.ts'
import { systemClock } from '../domain/clock.ts'
import { SourceError } from '../domain/source-error.ts'
import { EntrepotError } from '../errors.ts'
import { createFindListing, type MergedLookup } from '../gateway/find-listing.ts'
import type { SourceReport } from '../gateway/source-report.ts'
import { inTime, namedSources } from './ask-registries.ts'
import type { Market } from './market.ts'
import { tellOutcomes } from './outcomes.ts'
import { type Row, toRow } from './row.ts'
import type { Registry } from './select-registries.ts'
import { type Terminal, tell } from './terminal.ts'

type FoundRow = {
  row: Row | null
  registry: Registry | null
  /** Whether every Registry that could have a better copy answered. */
  complete: boolean
  reports: readonly SourceReport[]
  /** By the Registry's URL. */
  faults: ReadonlyMap<string, SourceError>
}

export async function find(
  terminal: Terminal,
  market: Market,
  registries: readonly Registry[],
  id: string,
  timeoutMs: number,
): Promise<FoundRow> {
  const found = await findEverywhere(market, registries, id, timeoutMs)
  tellOutcomes(terminal, found.reports, found.faults)
  for (const warning of warningsOf(found)) tell(terminal, warning)
  return found
}

/** The first Registry has the best priority. */
export async function findEverywhere(
  market: Market,
  registries: readonly Registry[],
  id: string,
  timeoutMs: number,
): Promise<FoundRow & { disputed: readonly string[] }> {
  const faults = new Map<string, SourceError>()
  const sources = namedSources(registries, (registry) => {
    const source = inTime(registry, timeoutMs, market.source(registry, timeoutMs))
    return (...asked) =>
      source(...asked).catch((error: unknown) => {
        if (error instanceof SourceError) faults.set(registry.url, error)
        throw error
      })
  })
  const findListing = createFindListing({ sources, budgetMs: timeoutMs, clock: systemClock })
  const { signal } = new AbortController()
  const { merged, complete, reports } = await findListing(
    { ...ANY_STATUS, listingId: id },
    { reader: ANONYMOUS, signal },
  ).then(toFound, notFound)
  return {
    row: merged === null ? null : toRow(merged),
    registry: registries.find(({ url }) => url === merged?.registry) ?? null,
    complete,
    disputed: merged?.disputed ?? [],
    reports,
    faults,
  }
}

const ANY_STATUS = { status: null, publisher: null, criteria: [], filters: [] }

type Found = Pick<MergedLookup, 'merged' | 'complete'> & { reports: readonly SourceReport[] }

const toFound = ({ merged, complete, sources }: MergedLookup): Found => ({
  merged,
  complete,
  reports: sources,
})

function notFound(error: unknown): Found {
  if (!(error instanceof EntrepotError) || !Array.isArray(error.members.sources)) throw error
  return { merged: null, complete: false, reports: error.members.sources as SourceReport[] }
}

const warningsOf = ({
  row,
  complete,
  disputed,
}: Pick<FoundRow, 'row' | 'complete'> & { disputed: readonly string[] }): string[] => [
  ...(row !== null && !complete
    ? ['Warning: a Registry that may have a better copy of this listing did not answer.']
    : []),
  ...disputed.map(
    (name) =>
      `Warning: ${name} has this publisher at another storefront. Check the storefront before you pay.`,
  ),
]
