import { differ } from '../domain/listing-terms.ts'
import type { Item, NamedSource } from '../domain/reading.ts'
import type { Micros } from '../domain/timestamp.ts'
import { type Copy, groupCopies } from './copies.ts'
import { rankSources } from './outcome.ts'

/** One listing of the merged sequence. */
export type MergedItem = {
  /** The copy that is shown. */
  item: Item
  /** Its bytes, less any `_meta`. */
  bytes: Uint8Array
  /** The source whose copy it is; `qualifiedName` is what readers know it by. */
  registry: string
  /** The other Registries that have the same listing, by priority. */
  alsoIn: readonly string[]
  stale: boolean
  /** Whether offers or escrows of the copies are not equal. */
  differs: boolean
  /** Whether another publisher has a listing of the same id. */
  conflict: boolean
  /** Better sources whose publishers have this one at another storefront. */
  disputed: readonly string[]
  /** Where the listing is ordered: the position of its newest copy. */
  position: Micros
}

/** The listing of one id that several sources answered with, as the copy of the best of them. */
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

/**
 * The listing of copies that are one, which come by rank; `null` where none is readable.
 * @param position default: that of the copy that is shown
 */
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

/** The best copy whose bytes can be read; the others count as invalid. `null` where none can. */
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

/** The better sources whose publishers have a copy's publisher at another storefront. */
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

/** What readers know a copy's Registry by: `eu/curated` for one behind the gateway `eu`. */
export function qualifiedName(source: string, { origin }: Pick<Item, 'origin'>): string {
  return origin === undefined ? source : `${source}/${origin.registry}`
}

const NO_NAMES: readonly string[] = []
