import { plural } from '../domain/plural.ts'
import type { SourceReport } from './source.ts'

/** An answer to what is open of one publisher. */
export type SellerOffers = {
  total: number
  complete: boolean
  sources: readonly Pick<SourceReport, 'registry' | 'matched'>[]
  /** `created_at` of the oldest of them; `null` where it was not read. */
  oldest: string | null
}

/** Older offers lie deeper than a gateway pages. */
export const MAX_SELLER_DEPTH = 2000

/** `41 open listings since 2026-11-20, in open-market (29), curated (12)`: a listing may be in several. Untrusted text. */
export function describeSeller({ total, complete, sources, oldest }: SellerOffers): string {
  const bound = complete ? '' : 'at least '
  const since = oldest === null ? '' : ` since ${oldest.slice(0, 10)}`
  const places = sources.flatMap(({ registry, matched }) => (matched ? `${registry} (${matched})` : []))
  return `${bound}${plural(total, 'open listing')}${since}${places.length === 0 ? '' : `, in ${places.join(', ')}`}`
}
