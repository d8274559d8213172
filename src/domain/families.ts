import { formatJson, isJsonObject, type JsonObject, textAt } from '../json/value.ts'

/** A listing with what identifies its seller. */
type Offered = { listing: JsonObject; publisher: string }

/**
 * Listings of one publisher with the same terms in different regions, as one family each, in the order of their first
 * members. A second listing for a region of a family begins another one.
 */
export function groupFamilies<Row>(rows: readonly Row[], read: (row: Row) => Offered): Row[][] {
  const families: Row[][] = []
  const open = new Map<string, { rows: Row[]; regions: Set<string> }[]>()
  for (const row of rows) {
    const offered = read(row)
    const region = textAt(offered.listing, 'offer_resource', 'region')
    const key = termsOf(offered)
    const sameTerms = open.get(key) ?? []
    const family = region === null ? undefined : sameTerms.find(({ regions }) => !regions.has(region))
    if (family !== undefined) {
      family.rows.push(row)
      family.regions.add(region!)
      continue
    }
    const own = [row]
    families.push(own)
    if (region !== null) open.set(key, [...sameTerms, { rows: own, regions: new Set([region]) }])
  }
  return families
}

/** Members that differ between listings of the same terms. */
const APART = new Set(['listing_id', 'created_at', 'updated_at', '_meta'])
const APART_IN_OFFER = new Set(['region', 'resource_id'])

function termsOf({ listing, publisher }: Offered): string {
  const { offer_resource: offer = null, ...rest } = listing
  return formatJson([
    publisher,
    sorted(rest, APART),
    isJsonObject(offer) ? sorted(offer, APART_IN_OFFER) : offer,
  ])
}

const sorted = (value: JsonObject, apart: ReadonlySet<string>): [string, unknown][] =>
  Object.entries(value)
    .filter(([name]) => !apart.has(name))
    .sort(([a], [b]) => (a < b ? -1 : 1))
