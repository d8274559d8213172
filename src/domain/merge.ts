import { isJsonObject, type JsonObject, parseJson, sameJson } from './json.ts'
import type { Item, NamedSource, Page } from './page.ts'

/** What one source said. */
export type SourceAnswer = { source: Pick<NamedSource, 'name' | 'priority'>; page: Page }

/** One listing of the merged sequence, with where it came from. */
export type MergedItem = {
  item: Item
  /** The source whose copy this is; `shownName` is what readers know it by. */
  registry: string
  /** The other Registries that carry the same listing, by priority. */
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
  const listings = deduplicate(ranked)
  const copies = listings.reduce((sum, { copies }) => sum + copies.length - 1, 0)
  const reported = ranked.reduce((sum, one) => sum + Math.max(one.page.total, itemsOf(one).length), 0)
  return {
    items: listings
      .sort(byAge)
      .slice(offset, offset + limit)
      .map(describe),
    total: reported - copies,
  }
}

/** A listing and its copies, of which the first, in rank order, is the one that is shown. */
type Listing = {
  copies: Copy[]
  /** How many listings have this `listing_id`. */
  namesakes: number
}

type Copy = {
  item: Item
  /** Place of its source in priority order. */
  rank: number
  answer: SourceAnswer
}

/** Names are unique, so the order is total. */
const byPriority = (a: SourceAnswer, b: SourceAnswer): number =>
  a.source.priority - b.source.priority || compareText(a.source.name, b.source.name)

const deduplicate = (ranked: readonly SourceAnswer[]): Listing[] => {
  const byId = new Map<string, Copy[]>()
  for (const [rank, answer] of ranked.entries()) {
    for (const item of itemsOf(answer)) {
      const namesakes = byId.get(item.listingId)
      if (namesakes === undefined) byId.set(item.listingId, [{ item, rank, answer }])
      else namesakes.push({ item, rank, answer })
    }
  }
  return byId.values().flatMap(tellApart).toArray()
}

const itemsOf = ({ page }: SourceAnswer): readonly Item[] =>
  page.behind === undefined ? page.items : [...page.items, ...page.behind]

/**
 * The listings among the items of one `listing_id`. Those whose publishers are known go first, so that one of whom
 * nobody knows who published it never makes one listing of two publishers'.
 */
const tellApart = (copies: Copy[]): Listing[] => {
  if (copies.length === 1) return [{ copies, namesakes: 1 }]
  const apart: Copy[][] = []
  const known = copies.filter(({ item }) => item.publisher !== null)
  const unknown = copies.filter(({ item }) => item.publisher === null)
  for (const copy of [...known, ...unknown]) {
    const same = apart.find((others) => others.some((other) => isSameListing(other.item, copy.item)))
    if (same === undefined) apart.push([copy])
    else same.push(copy)
  }
  return apart.map((same) => ({ copies: same.sort(byRank), namesakes: apart.length }))
}

const byRank = (a: Copy, b: Copy): number => a.rank - b.rank

/** What tells two listings of one `listing_id` apart. */
export type Identity = Pick<Item, 'publisher' | 'storefrontUrl'>

/** For two items with one `listing_id`: who published them decides, or where she trades if that is not known. */
export const isSameListing = (a: Identity, b: Identity): boolean =>
  a.publisher !== null && b.publisher !== null
    ? a.publisher === b.publisher
    : a.storefrontUrl !== null && a.storefrontUrl === b.storefrontUrl

const byAge = ({ copies: [a] }: Listing, { copies: [b] }: Listing): number =>
  b!.item.createdAt - a!.item.createdAt || byRank(a!, b!) || compareText(a!.item.listingId, b!.item.listingId)

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const describe = ({ copies: [shown, ...others], namesakes }: Listing): MergedItem => {
  const { item, answer } = shown!
  const registry = answer.source.name
  const names = new Set([
    ...(item.origin?.alsoIn ?? []).map((name) => `${registry}/${name}`),
    ...others.map((copy) => shownName(copy.answer.source.name, copy.item)),
  ])
  names.delete(shownName(registry, item))
  return {
    item,
    registry,
    alsoIn: [...names],
    stale: answer.page.stale || item.origin?.stale === true,
    differs: item.origin?.differs === true || others.some((copy) => differ(item, copy.item)),
    conflict: namesakes > 1,
  }
}

/** What readers know a copy's Registry by: `eu/curated` for one behind the gateway `eu` (`contract.md` 3.1). */
export const shownName = (source: string, { origin }: Pick<Item, 'origin'>): string =>
  origin === undefined ? source : `${source}/${origin.registry}`

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
