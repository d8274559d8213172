import fc from 'fast-check'
import { isSameListing } from '../../src/domain/merge.ts'
import type { Item, NamedSource } from '../../src/domain/page.ts'
import { SourceError } from '../../src/domain/source-error.ts'

export const itemOf = (
  listingId: string,
  createdAt: number,
  { publisher = null, storefrontUrl = 'http://s' }: Partial<Pick<Item, 'publisher' | 'storefrontUrl'>> = {},
): Item => ({
  bytes: Buffer.from(JSON.stringify({ listing_id: listingId, created_at: createdAt })),
  listingId,
  createdAt,
  storefrontUrl,
  publisher,
})

/** A Registry of a made-up world. Its listings, and whether it answers, may be changed between two questions. */
export type World = Pick<NamedSource, 'name' | 'priority'> & {
  items: Item[]
  /** Listings of a stretch. */
  size: number
  /** Listings known behind a page. */
  behind: number
  /** Whether all that it holds can be looked up at once. */
  isWhole: boolean
  isDown?: boolean
}

/** A world of its own to change: a counterexample is tried again and again. */
export const copyOf = (parts: readonly World[]): World[] =>
  parts.map((part) => ({ ...part, items: [...part.items] }))

/** It pages by offset, newest first, and leaves no order to chance. */
export const sourceOf = (world: World): NamedSource => ({
  name: world.name,
  visibility: 'public',
  mode: world.isWhole ? 'snapshot' : 'live',
  priority: world.priority,
  ask: async ({ offset, limit, reading }) => {
    if (world.isDown) throw new SourceError('connection_refused', world.name)
    const sorted = world.items.toSorted(
      (a, b) => b.createdAt - a.createdAt || (a.listingId < b.listingId ? -1 : 1),
    )
    const end = offset + (reading === 'stretch' ? Math.min(limit, world.size) : limit)
    const behind = reading === 'stretch' || world.isWhole ? [] : sorted.slice(end, end + world.behind)
    return {
      items: sorted.slice(offset, end),
      ...(behind.length === 0 ? {} : { behind }),
      total: sorted.length,
      ageSeconds: 0,
      stale: false,
      ...(world.isWhole
        ? {
            find: (id, known) => world.items.filter((item) => item.listingId === id && !known.includes(item)),
          }
        : {}),
    }
  },
})

const copy = fc.record({ id: fc.integer({ min: 0, max: 40 }), at: fc.integer({ min: 0, max: 25 }) })

const registry = fc.record({
  priority: fc.integer({ min: 0, max: 2 }),
  size: fc.integer({ min: 2, max: 7 }),
  behind: fc.integer({ min: 0, max: 6 }),
  isWhole: fc.boolean(),
  copies: fc.uniqueArray(copy, { maxLength: 30, selector: ({ id }) => id }),
})

/** One to four Registries that share many ids, at times that are often the same. */
export const worlds = fc.array(registry, { minLength: 1, maxLength: 4 }).map((registries) =>
  registries.map(
    ({ copies, ...parts }, n): World => ({
      ...parts,
      name: `s${n}`,
      items: copies.map(({ id, at }) => itemOf(`l${id}`, at)),
    }),
  ),
)

const published = fc.record({
  id: fc.integer({ min: 0, max: 8 }),
  at: fc.integer({ min: 0, max: 40 }),
  publisher: fc.constantFrom(null, '0xa', '0xb'),
  storefrontUrl: fc.constantFrom(null, 'http://s', 'http://t'),
})

/** The same where several publishers use one id, and not everybody knows which of them published it. */
export const contestedWorlds = fc
  .array(
    fc.record({
      priority: fc.integer({ min: 0, max: 2 }),
      size: fc.integer({ min: 2, max: 7 }),
      behind: fc.integer({ min: 0, max: 6 }),
      isWhole: fc.boolean(),
      copies: fc.uniqueArray(published, { maxLength: 9, selector: ({ id }) => id }),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((registries) =>
    registries.map(
      ({ copies, ...parts }, n): World => ({
        ...parts,
        name: `s${n}`,
        items: copies.map(({ id, at, ...identity }) => itemOf(`l${id}`, at, identity)),
      }),
    ),
  )

/** What is wrong with these listings as all that there is in a contested world. */
export const mistakesIn = (shown: readonly Item[], parts: readonly World[]): string[] => {
  const all = parts.flatMap(({ items }) => items)
  const repeats = shown.filter(({ listingId, publisher }, n) =>
    shown
      .slice(0, n)
      .some((other) => other.listingId === listingId && publisher !== null && other.publisher === publisher),
  )
  const mistakes = repeats.map(({ listingId, publisher }) => `${listingId} of ${publisher} comes twice`)
  for (const id of new Set(all.map(({ listingId }) => listingId))) {
    const copies = all.filter(({ listingId }) => listingId === id)
    const came = shown.filter(({ listingId }) => listingId === id)
    const publishers = new Set(copies.flatMap(({ publisher }) => publisher ?? []))
    if (came.length < publishers.size)
      mistakes.push(`${id}: ${publishers.size} publishers, ${came.length} came`)
    for (const copy of copies) {
      if (came.some((one) => isLinked(one, copy, copies))) continue
      mistakes.push(`${id} of ${copy.publisher} at ${copy.storefrontUrl} is lost`)
    }
  }
  return mistakes
}

/** One listing, or taken for one by way of others: then either reading is right. */
const isLinked = (one: Item, other: Item, copies: readonly Item[]): boolean => {
  let linked: readonly Item[] = [one]
  for (let known = 0; known < linked.length; ) {
    known = linked.length
    linked = copies.filter((copy) => linked.some((of) => of === copy || isSameListing(of, copy)))
  }
  return linked.includes(other)
}
