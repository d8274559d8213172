import { isJsonObject, type JsonObject, parseJson, sameJson } from './json.ts'
import type { Item, NamedSource, Page } from './page.ts'
import type { Micros } from './timestamp.ts'

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
  let seen = 0
  let reported = 0
  for (const { page } of ranked) {
    const items = page.items.length + (page.behind?.length ?? 0)
    seen += items
    reported += Math.max(page.total, items)
  }
  return {
    items: newestOf(listings, offset + limit)
      .sort(byAge)
      .slice(offset, offset + limit)
      .map(describe),
    total: reported - (seen - listings.length),
  }
}

/** One copy of a listing. Of the copies that are one listing, the first in rank order stands for all of them. */
type Copy = {
  item: Item
  /** Of the item: here because it is looked at again and again. */
  createdAt: Micros
  /** Place of its source in priority order. */
  rank: number
  answer: SourceAnswer
  /** The other copies of the listing that it stands for. */
  others: readonly Copy[]
  /** How many listings have this `listing_id`. */
  namesakes: number
}

/** Names are unique, so the order is total. */
const byPriority = (a: SourceAnswer, b: SourceAnswer): number =>
  a.source.priority - b.source.priority || compareText(a.source.name, b.source.name)

const deduplicate = (ranked: readonly SourceAnswer[]): Copy[] => {
  const byId = new Map<string, Copy | Copy[]>()
  for (const [rank, answer] of ranked.entries()) {
    const { items, behind = [] } = answer.page
    for (const part of [items, behind]) {
      for (const item of part) {
        const { listingId, createdAt } = item
        const copy: Copy = { item, createdAt, rank, answer, others: NO_OTHERS, namesakes: 1 }
        const known = byId.get(listingId)
        if (known === undefined) byId.set(listingId, copy)
        else if (Array.isArray(known)) known.push(copy)
        else byId.set(listingId, [known, copy])
      }
    }
  }
  const listings: Copy[] = []
  for (const found of byId.values()) {
    if (Array.isArray(found)) listings.push(...tellApart(found))
    else listings.push(found)
  }
  return listings
}

const NO_OTHERS: readonly Copy[] = []

const tellApart = (copies: readonly Copy[]): Copy[] => {
  const apart = groupCopies(copies)
  return apart.map((same) => {
    const [shown, ...others] = same.sort(byRank)
    return { ...shown!, others, namesakes: apart.length }
  })
}

/**
 * The listings among the copies of one `listing_id`, which come in the order of their ranks. Those whose publishers are
 * known go first, so that one of whom nobody knows who published it never makes one listing of two publishers'.
 */
export const groupCopies = <C extends { item: Identity }>(copies: readonly C[]): C[][] => {
  const apart: C[][] = []
  const known = copies.filter(({ item }) => item.publisher !== null)
  const unknown = copies.filter(({ item }) => item.publisher === null)
  for (const copy of [...known, ...unknown]) {
    const same = apart.find((others) => others.some((other) => isSameListing(other.item, copy.item)))
    if (same === undefined) apart.push([copy])
    else same.push(copy)
  }
  return apart
}

const byRank = (a: Copy, b: Copy): number => a.rank - b.rank

/** All that can be among the `count` newest: sorting ages is much cheaper than sorting listings. */
const newestOf = (listings: Copy[], count: number): Copy[] => {
  if (listings.length <= count || count === 0) return listings
  const ages = new Float64Array(listings.length)
  for (let n = 0; n < ages.length; n++) ages[n] = listings[n]!.createdAt
  ages.sort()
  const oldest = ages[ages.length - count]!
  return listings.filter(({ createdAt }) => createdAt >= oldest)
}

/** What tells two listings of one `listing_id` apart. */
export type Identity = Pick<Item, 'publisher' | 'storefrontUrl'>

/** For two items with one `listing_id`: who published them decides, or where she trades if that is not known. */
export const isSameListing = (a: Identity, b: Identity): boolean =>
  a.publisher !== null && b.publisher !== null
    ? a.publisher === b.publisher
    : a.storefrontUrl !== null && a.storefrontUrl === b.storefrontUrl

const byAge = (a: Copy, b: Copy): number =>
  b.createdAt - a.createdAt || byRank(a, b) || compareText(a.item.listingId, b.item.listingId)

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const describe = ({ item, answer, others, namesakes }: Copy): MergedItem =>
  describeShown(item, answer.source.name, answer.page.stale, {
    names: others.map((copy) => shownName(copy.answer.source.name, copy.item)),
    differs: others.some((copy) => differ(item, copy.item)),
    conflict: namesakes > 1,
  })

/** A listing by the copy of it that is shown. `names`: where else it is, by priority, as readers know these. */
export const describeShown = (
  item: Item,
  registry: string,
  isStale: boolean,
  { names, differs, conflict }: { names: readonly string[]; differs: boolean; conflict: boolean },
): MergedItem => {
  const alsoIn = new Set([...(item.origin?.alsoIn ?? []).map((name) => `${registry}/${name}`), ...names])
  alsoIn.delete(shownName(registry, item))
  return {
    item,
    registry,
    alsoIn: [...alsoIn],
    stale: isStale || item.origin?.stale === true,
    differs: item.origin?.differs === true || differs,
    conflict,
  }
}

/** What readers know a copy's Registry by: `eu/curated` for one behind the gateway `eu` (`contract.md` 3.1). */
export const shownName = (source: string, { origin }: Pick<Item, 'origin'>): string =>
  origin === undefined ? source : `${source}/${origin.registry}`

/** Whether two copies of a listing have other offers or escrows. */
export const differ = (a: Item, b: Item): boolean => {
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
