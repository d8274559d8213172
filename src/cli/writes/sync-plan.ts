import { type JsonValue, parseJson, sameJson } from '../../json/value.ts'
import type { DraftListing } from '../listing-file.ts'
import type { OwnListing } from './own-listings.ts'

export type SyncPlan = {
  /** New and changed listings, with the names of the members that differ. */
  publish: readonly { draft: DraftListing; changed: readonly string[] }[]
  /** Publishing cannot clear these members, but an update can. */
  clearOracle: readonly string[]
  close: readonly string[]
  /** Own listings that are open before. */
  open: number
  unchanged: number
  /** Listings whose `max_duration_seconds` no write can clear. */
  keepsDuration: readonly string[]
}

/** What makes a Registry have exactly these listings open. `ownListings` must be complete. */
export function planSync(drafts: readonly DraftListing[], ownListings: readonly OwnListing[]): SyncPlan {
  const byId = new Map(ownListings.map((one) => [one.listingId, one]))
  const named = new Set(drafts.map(({ listingId }) => listingId))
  const due = drafts.map((draft) => compare(draft, byId.get(draft.listingId)))
  const oracleless = due.filter(({ clearsOracle }) => clearsOracle)
  const publish = due.filter(({ isNew, changed }) => isNew || changed.length > 0)
  const open = ownListings.filter(({ status }) => status === 'open')
  return {
    publish,
    open: open.length,
    clearOracle: oracleless.map(({ draft }) => draft.listingId),
    close: open.flatMap(({ listingId }) => (named.has(listingId) ? [] : [listingId])),
    unchanged: due.length - new Set([...publish, ...oracleless]).size,
    keepsDuration: due.filter(({ keepsDuration }) => keepsDuration).map(({ draft }) => draft.listingId),
  }
}

/** Absent from the file, they are emptied: null or absent would keep what is stored. */
const EMPTIED = { offer_resource: '{}', accepted_escrows: '[]', demands: '[]', status: '"open"' }
const COMPARED = [
  ...Object.keys(EMPTIED),
  'settlement_options',
  'storefront_url',
  'max_duration_seconds',
  'oracle_address',
]

type Compared = SyncPlan['publish'][number] & {
  isNew: boolean
  clearsOracle: boolean
  keepsDuration: boolean
}

function compare(draft: DraftListing, ownListing: OwnListing | undefined): Compared {
  if (ownListing === undefined)
    return { draft, changed: [], isNew: true, clearsOracle: false, keepsDuration: false }
  const given = [...draft.members].filter(
    ([name, text]) => text !== 'null' && !(name === 'storefront_url' && text === '""'),
  )
  // The rows of the plain line have none.
  const emptied =
    'settlement_options' in ownListing.listing ? { ...EMPTIED, settlement_options: '[]' } : EMPTIED
  const members = new Map([...Object.entries(emptied), ...given])
  const isNull = (value: JsonValue | undefined): boolean => value === null || value === undefined
  const lacks = (name: string): boolean => !members.has(name) && !isNull(ownListing.listing[name])
  const changed = COMPARED.filter((name) => {
    const text = members.get(name)
    return text !== undefined && !sameJson(parseJson(text), ownListing.listing[name])
  })
  return {
    draft: { ...draft, members },
    changed,
    isNew: false,
    clearsOracle: lacks('oracle_address'),
    keepsDuration: lacks('max_duration_seconds'),
  }
}
