import { type Identity, isSameListing } from '../domain/listing-identity.ts'
import { differ } from '../domain/listing-terms.ts'
import type { Item, NamedSource } from '../domain/reading.ts'
import type { Micros } from '../domain/timestamp.ts'
import type { SourceReader } from './source-reader.ts'
import { rankSources } from './sources.ts'

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
}

export function mergeCopies(
  answers: readonly { source: NamedSource; items: readonly Item[]; isStale: boolean }[],
): MergedItem | null {
  const ranked = rankSources(answers.map(({ source }) => source))
  const copies = answers.flatMap(({ source, items, isStale }) => {
    const reader = {
      source,
      rank: ranked.indexOf(source),
      isStale,
      positionOf: ({ position }: Item) => position,
      addInvalid: () => {},
    }
    return items.map((item) => ({ item, reader }))
  })
  const [best] = copies.sort((a, b) => a.reader.rank - b.reader.rank)
  if (best === undefined) return null
  const groups = groupCopies(copies)
  const group = groups.find((one) => one.includes(best))!
  return mergeGroup(group, { ranked, conflict: groups.length > 1 })
}

/** `group` is ordered by rank. `null` where no copy is readable. */
export function mergeGroup(
  group: readonly Copy[],
  known: { ranked: readonly NamedSource[]; conflict: boolean; position?: Micros },
): MergedItem | null {
  const shown = readable(group)
  if (shown === null) return null
  const { copy, bytes } = shown
  const { item, reader } = copy
  const { source } = reader
  const { origin } = item
  const { ranked, conflict, position = item.position } = known
  const registry = source.name
  const disputed = disputedBy(ranked, copy)
  if (group.length === 1 && origin === undefined)
    return {
      item,
      bytes,
      registry,
      alsoIn: NO_NAMES,
      stale: reader.isStale,
      differs: false,
      conflict,
      disputed,
      position,
    }
  const own = qualifiedName(source.name, item)
  const names = [
    ...(origin?.alsoIn ?? []).map((name) => `${source.name}/${name}`),
    ...group
      .filter((other) => other !== copy)
      .map((other) => qualifiedName(other.reader.source.name, other.item)),
  ]
  return {
    item,
    bytes,
    registry,
    alsoIn: [...new Set(names)].filter((name) => name !== own),
    stale: reader.isStale || origin?.stale === true,
    differs:
      origin?.differs === true || group.some((other) => other !== copy && hasOtherTerms(item, other.item)),
    conflict,
    position,
    disputed: [...disputed, ...(origin?.disputed ?? []).map((name) => `${source.name}/${name}`)],
  }
}

function readable(copies: readonly Copy[]): Shown | null {
  for (const copy of copies) {
    try {
      return { copy, bytes: copy.item.bytes }
    } catch {
      copy.reader.addInvalid()
    }
  }
  return null
}

type Shown = { copy: Copy; bytes: Uint8Array }

function disputedBy(ranked: readonly NamedSource[], { item, reader }: Copy): readonly string[] {
  const { publisher, storefrontUrl } = item
  if (publisher === null) return NO_NAMES
  const names: string[] = []
  for (const { name, storefrontOf } of ranked.slice(0, reader.rank)) {
    const storefront = storefrontOf?.(publisher)
    if (storefront !== undefined && storefront !== storefrontUrl) names.push(name)
  }
  return names
}

function hasOtherTerms(shown: Item, other: Item): boolean {
  try {
    return differ(shown, other)
  } catch {
    return true // unreadable
  }
}

/** `eu/curated` for a copy from the gateway `eu`. */
export function qualifiedName(source: string, { origin }: Pick<Item, 'origin'>): string {
  return origin === undefined ? source : `${source}/${origin.registry}`
}

const NO_NAMES: readonly string[] = []

export type Copy = { item: Item; reader: CopySource }
type CopySource = Pick<SourceReader, 'source' | 'rank' | 'isStale' | 'positionOf' | 'addInvalid'>

export type KnownListing = { publisher: string | null; storefronts: (string | null)[] }

export function newListing({ publisher, storefrontUrl }: Identity): KnownListing {
  return { publisher, storefronts: [storefrontUrl] }
}

export function newListingOf(
  copy: Copy,
  others: readonly Copy[],
  listings: readonly KnownListing[],
): KnownListing {
  const listing = newListing(copy.item)
  for (const other of groupOf(copy, others, listings).own) addCopy(listing, other.item)
  return listing
}

/** `own`: the copies of the same listing, without those of `listings`, which were emitted before. */
export function groupOf(
  copy: Copy,
  others: readonly Copy[],
  listings: readonly KnownListing[],
): { groups: readonly Copy[][]; own: readonly Copy[] } {
  const all = [copy, ...others.filter((other) => other !== copy)]
  const groups = groupCopies(all.sort((a, b) => a.reader.rank - b.reader.rank))
  const group = groups.find((one) => one.includes(copy))!
  const isFree = (other: Copy): boolean =>
    other === copy || !listings.some((listing) => belongs(other.item, listing))
  return { groups, own: listings.length === 0 ? group : group.filter(isFree) }
}

/** Known publishers go first, so that a copy without one never joins the listings of two publishers. */
function groupCopies(copies: readonly Copy[]): Copy[][] {
  if (copies.length === 1) return [[copies[0]!]]
  const groups: Copy[][] = []
  const known = copies.filter(({ item }) => item.publisher !== null)
  const unknown = copies.filter(({ item }) => item.publisher === null)
  for (const copy of [...known, ...unknown]) {
    const group = groups.find((others) => others.some((other) => isSameListing(other.item, copy.item)))
    if (group === undefined) groups.push([copy])
    else group.push(copy)
  }
  return groups.map((group) => group.sort((a, b) => a.reader.rank - b.reader.rank))
}

export function belongs({ publisher, storefrontUrl }: Identity, listing: KnownListing): boolean {
  if (publisher !== null && listing.publisher !== null) return publisher === listing.publisher
  return storefrontUrl !== null && listing.storefronts.includes(storefrontUrl)
}

export function addCopy(listing: KnownListing, { publisher, storefrontUrl }: Identity): void {
  listing.publisher ??= publisher
  if (!listing.storefronts.includes(storefrontUrl)) listing.storefronts.push(storefrontUrl)
}

/** By value, since lookups create new objects. */
export function isSameCopy(a: Item, b: Item): boolean {
  return (
    a === b ||
    (a.publisher === b.publisher && a.storefrontUrl === b.storefrontUrl && a.position === b.position)
  )
}

export function copyKey({ item, reader }: Copy): string {
  return `${reader.rank}\n${item.listingId}\n${item.publisher}\n${item.storefrontUrl}`
}
