import { isJsonObject, type JsonObject, parseJson, sameJson } from './json.ts'
import type { Item, NamedSource, Page } from './page.ts'

/** What one source said. */
export type SourceAnswer = { source: Pick<NamedSource, 'name' | 'priority'>; page: Page }

/** One listing of the merged sequence, with where it came from. */
export type MergedItem = {
  item: Item
  /** The source whose copy this is. */
  registry: string
  /** The other sources that carry the same listing, by priority. */
  alsoIn: readonly string[]
  stale: boolean
  /** Offers or escrows of the copies are not equal. */
  differs: boolean
  /** Another listing, under another publisher, has the same `listing_id`. */
  conflict: boolean
}

/**
 * One sequence out of many pages (`contract.md` 3.1): newest first, then by source priority, then by `listing_id`,
 * with every listing once. Of the copies of a listing the one with the lowest priority number is shown, never the
 * newest, so that no other Registry can shadow it. Does not depend on the order of `answers`.
 *
 * `total` counts distinct matches: what the sources report, less the copies that are seen here.
 */
export const merge = (
  answers: readonly SourceAnswer[],
  { offset, limit }: { offset: number; limit: number },
): { items: MergedItem[]; total: number } => {
  const ranked = answers.toSorted(byPriority)
  const { listings, copies } = deduplicate(ranked)
  const reported = ranked.reduce((sum, { page }) => sum + Math.max(page.total, page.items.length), 0)
  return {
    items: listings
      .sort(byAge)
      .slice(offset, offset + limit)
      .map(describe),
    total: reported - copies,
  }
}

/** A listing and its copies. The first copy found, in rank order, is the one that is shown. */
type Listing = {
  item: Item
  /** Place of its source in priority order. */
  rank: number
  answer: SourceAnswer
  copies: { item: Item; answer: SourceAnswer }[]
  /** All listings with this `listing_id`. */
  namesakes: Listing[]
}

/** Names are unique, so the order is total. */
const byPriority = (a: SourceAnswer, b: SourceAnswer): number =>
  a.source.priority - b.source.priority || compareText(a.source.name, b.source.name)

const deduplicate = (ranked: readonly SourceAnswer[]): { listings: Listing[]; copies: number } => {
  const byId = new Map<string, Listing[]>()
  const listings: Listing[] = []
  let copies = 0
  for (const [rank, answer] of ranked.entries()) {
    for (const item of answer.page.items) {
      const namesakes = byId.get(item.listingId) ?? []
      const same = namesakes.find((listing) => isSameListing(listing.item, item))
      if (same === undefined) {
        const listing = { item, rank, answer, copies: [], namesakes }
        namesakes.push(listing)
        listings.push(listing)
        if (namesakes.length === 1) byId.set(item.listingId, namesakes)
      } else {
        same.copies.push({ item, answer })
        copies++
      }
    }
  }
  return { listings, copies }
}

/** For two items with one `listing_id`: who published them decides, or where she trades if that is not known. */
const isSameListing = (a: Item, b: Item): boolean =>
  a.publisher !== null && b.publisher !== null
    ? a.publisher === b.publisher
    : a.storefrontUrl !== null && a.storefrontUrl === b.storefrontUrl

const byAge = (a: Listing, b: Listing): number =>
  b.item.createdAt - a.item.createdAt || a.rank - b.rank || compareText(a.item.listingId, b.item.listingId)

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const describe = ({ item, answer, copies, namesakes }: Listing): MergedItem => {
  const registry = answer.source.name
  const others = new Set(copies.map((copy) => copy.answer.source.name))
  others.delete(registry)
  return {
    item,
    registry,
    alsoIn: [...others],
    stale: answer.page.stale,
    differs: copies.some((copy) => differ(item, copy.item)),
    conflict: namesakes.length > 1,
  }
}

const differ = (a: Item, b: Item): boolean => {
  if (Buffer.compare(a.bytes, b.bytes) === 0) return false
  const [one, other] = [readObject(a), readObject(b)]
  return (
    !sameJson(one.offer_resource, other.offer_resource) ||
    !sameJson(one.accepted_escrows, other.accepted_escrows)
  )
}

const readObject = ({ bytes }: Item): JsonObject => {
  const value = parseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'))
  return isJsonObject(value) ? value : {}
}
