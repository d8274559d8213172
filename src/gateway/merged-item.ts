import { differ } from '../domain/listing-terms.ts'
import type { Item, NamedSource } from '../domain/reading.ts'
import type { Micros } from '../domain/timestamp.ts'
import { type Copy, groupCopies } from './copies.ts'
import { rankSources } from './outcome.ts'

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
