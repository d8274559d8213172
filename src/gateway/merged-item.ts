import type { ListingIdentity } from '../domain/listing-identity.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import type { Item } from '../domain/source/reading.ts'
import { SourceError } from '../domain/source/source-error.ts'
import type { Micros } from '../domain/timestamp.ts'
import { type JsonObject, parseObject, sameJson } from '../json/value.ts'
import type { ItemPrice } from '../wire/listing.ts'
import type { SourceReader } from './source-reader.ts'
import type { Outcome } from './sources.ts'

export type MergedItem = {
  item: Item
  /** Without `_meta`. */
  bytes: Uint8Array
  /** Readers see `qualifiedName`. */
  registry: string
  /** By priority. */
  alsoIn: readonly string[]
  stale: boolean
  /** Whether the copies' offers or escrows differ. */
  differs: boolean
  /** Whether another publisher has a listing of the same id. */
  conflict: boolean
  /** Better sources with another storefront of the publisher. */
  disputed: readonly string[]
  /** Of the newest copy. */
  position: Micros
  price?: ItemPrice | undefined
}

export type Copy = {
  item: Item
  reader: Pick<SourceReader, 'source' | 'rank' | 'isStale' | 'addInvalid'>
}

/** Of answers to one id, by rank: the first copy decides which listing is shown. */
export function mergeCopies(
  answers: readonly { outcome: Outcome; items: readonly Item[] }[],
): MergedItem | null {
  const copies = answers.flatMap(({ outcome: { source, result }, items }, rank) => {
    const reader = {
      source,
      rank,
      isStale: !(result instanceof SourceError) && result.stale,
      addInvalid: () => {},
    }
    return items.map((item) => ({ item, reader }))
  })
  const [best] = copies
  if (best === undefined) return null
  const { group, isConflict } = groupOf(best, copies, [])
  const ranked = answers.map(({ outcome }) => outcome.source)
  return mergeGroup(group, { ranked, conflict: isConflict })
}

/** `group` is ordered by rank. `null` where no copy is readable. */
export function mergeGroup(
  group: readonly Copy[],
  known: { ranked: readonly NamedSource[]; conflict: boolean; position?: Micros },
): MergedItem | null {
  const shown = firstReadable(group)
  if (shown === null) return null
  const { copy, bytes } = shown
  const { item, reader } = copy
  const { origin } = item
  const { ranked, conflict, position = item.position } = known
  const { name: registry } = reader.source
  const others = group.length === 1 ? NONE : group.filter((other) => other !== copy)
  const disputed = disputedBy(ranked, copy)
  const within = (names: readonly string[] = NONE) => names.map((name) => `${registry}/${name}`)
  return {
    item,
    bytes,
    registry,
    alsoIn: others.length === 0 && origin === undefined ? NONE : alsoIn(),
    stale: reader.isStale || origin?.stale === true,
    differs: origin?.differs === true || others.some((other) => hasOtherTerms(item, other.item)),
    conflict,
    disputed: origin === undefined ? disputed : [...disputed, ...within(origin.disputed)],
    position,
  }

  function alsoIn(): string[] {
    const own = qualifiedName(registry, item)
    const names = others.map((other) => qualifiedName(other.reader.source.name, other.item))
    return [...new Set([...within(origin?.alsoIn), ...names])].filter((name) => name !== own)
  }
}

const NONE: readonly never[] = []

function firstReadable(copies: readonly Copy[]): { copy: Copy; bytes: Uint8Array } | null {
  for (const copy of copies) {
    try {
      return { copy, bytes: copy.item.bytes }
    } catch {
      copy.reader.addInvalid()
    }
  }
  return null
}

function disputedBy(ranked: readonly NamedSource[], { item, reader }: Copy): readonly string[] {
  const { publisher, storefrontUrl } = item
  if (publisher === null) return NONE
  const names: string[] = []
  for (const { name, storefrontOf } of ranked.slice(0, reader.rank)) {
    const storefront = storefrontOf?.(publisher)
    if (storefront !== undefined && storefront !== storefrontUrl) names.push(name)
  }
  return names
}

/** Whether two copies of a listing have different offers or escrows; so has an unreadable one. */
function hasOtherTerms(shown: Item, other: Item): boolean {
  try {
    if (Buffer.compare(shown.bytes, other.bytes) === 0) return false
    const [one, two] = [readObject(shown), readObject(other)]
    return (
      !sameJson(one.offer_resource, two.offer_resource) ||
      !sameJson(one.accepted_escrows, two.accepted_escrows)
    )
  } catch {
    return true
  }
}

function readObject({ bytes }: Item): JsonObject {
  return parseObject(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'))
}

/** `eu/curated` for a copy from the gateway `eu`. */
export function qualifiedName(source: string, { origin }: Pick<Item, 'origin'>): string {
  return origin === undefined ? source : `${source}/${origin.registry}`
}

/** An emitted listing. */
export type KnownListing = { publisher: string | null; storefronts: (string | null)[] }

/** With what the copies of its group know. */
export function newListing(first: Copy, group: readonly Copy[]): KnownListing {
  const { publisher, storefrontUrl } = first.item
  const listing = { publisher, storefronts: [storefrontUrl] }
  for (const { item } of group) addCopy(listing, item)
  return listing
}

/** `group`: the copies of the same listing by rank, without those of `listings`, which were emitted before. */
export function groupOf(
  copy: Copy,
  others: readonly Copy[],
  listings: readonly KnownListing[],
): { group: readonly Copy[]; isConflict: boolean } {
  if (others.length === 0) return { group: [copy], isConflict: listings.length > 0 }
  const groups = groupCopies([copy, ...others.filter((other) => other !== copy)])
  const own = groups.find((group) => group.includes(copy))!
  const isFree = (other: Copy): boolean =>
    other === copy || !listings.some((listing) => belongs(other.item, listing))
  return { group: own.filter(isFree), isConflict: groups.length > 1 || listings.length > 0 }
}

/**
 * One group per listing, from copies of one id; each by rank. Known publishers go first, so that a copy without one never
 * joins the listings of two publishers.
 */
export function groupCopies(copies: readonly Copy[]): Copy[][] {
  const ranked = copies.toSorted(byRank)
  const publisher = ranked[0]?.item.publisher ?? null
  // The usual case, and cheaper than grouping.
  if (publisher !== null && ranked.every(({ item }) => item.publisher === publisher)) return [ranked]
  const known = ranked.filter(({ item }) => item.publisher !== null)
  const groups = [...Map.groupBy(known, ({ item }) => item.publisher).values()]
  /** The first group with a copy there. */
  const byStorefront = new Map<string | null, Copy[]>()
  const add = (group: Copy[], { storefrontUrl }: Item): void => {
    if (storefrontUrl !== null && !byStorefront.has(storefrontUrl)) byStorefront.set(storefrontUrl, group)
  }
  for (const group of groups) for (const { item } of group) add(group, item)
  for (const copy of ranked) {
    if (copy.item.publisher !== null) continue
    const group = byStorefront.get(copy.item.storefrontUrl)
    if (group !== undefined) group.push(copy)
    else add(groups[groups.push([copy]) - 1]!, copy.item)
  }
  return groups.map((group) => group.sort(byRank))
}

function byRank(a: Copy, b: Copy): number {
  return a.reader.rank - b.reader.rank
}

export function belongs({ publisher, storefrontUrl }: ListingIdentity, listing: KnownListing): boolean {
  if (publisher !== null && listing.publisher !== null) return publisher === listing.publisher
  return storefrontUrl !== null && listing.storefronts.includes(storefrontUrl)
}

export function addCopy(listing: KnownListing, { publisher, storefrontUrl }: ListingIdentity): void {
  listing.publisher ??= publisher
  if (!listing.storefronts.includes(storefrontUrl)) listing.storefronts.push(storefrontUrl)
}

export function isReadable({ item }: Pick<Copy, 'item'>): boolean {
  try {
    return item.bytes.length > 0
  } catch {
    return false
  }
}

/** By value, since lookups create new objects. */
export function isSameCopy(a: Item, b: Item): boolean {
  return (
    a === b ||
    (a.publisher === b.publisher && a.storefrontUrl === b.storefrontUrl && a.position === b.position)
  )
}

/** By value, since lookups create new objects. */
export function copyKey({ item, reader }: Copy): string {
  return `${reader.rank}\n${item.listingId}\n${item.publisher}\n${item.storefrontUrl}`
}
