import type { ListingQuery } from '../../domain/query.ts'
import type { Criterion } from '../../filter-spec/criteria.ts'
import { unsentFilters } from '../../filter-spec/unsent-filters.ts'
import { ItemScanner } from './item-scanner.ts'

/** Shared by all upstreams. */
const KNOWN = new WeakMap<readonly Criterion[], Map<string | null, ItemScanner>>()

/** Checks what the upstream should have applied: the status and the sent filters. */
export function scannerOf(query: ListingQuery): ItemScanner {
  const { criteria, listingId } = query
  if (listingId !== undefined) return scannerFor(NO_CRITERIA, null)
  const unsent = unsentFilters(query)
  const sent = unsent.length === 0 ? criteria : criteria.filter(({ filter }) => !unsent.includes(filter.name))
  return scannerFor(sent.length === 0 ? NO_CRITERIA : sent, query.status)
}

const NO_CRITERIA: readonly Criterion[] = []

function scannerFor(criteria: readonly Criterion[], status: string | null): ItemScanner {
  const known = KNOWN.get(criteria) ?? new Map<string | null, ItemScanner>()
  KNOWN.set(criteria, known)
  const scanner = known.get(status) ?? new ItemScanner(criteria, status)
  known.set(status, scanner)
  return scanner
}
