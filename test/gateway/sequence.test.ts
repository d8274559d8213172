import test from 'ava'
import fc from 'fast-check'
import { isSameListing } from '../../src/domain/listing-identity.ts'
import type { Item } from '../../src/domain/source/reading.ts'
import { endOfMs } from '../../src/domain/timestamp.ts'
import { type FakeSource, fakeItem, fakeSource } from '../helpers/fake-source.ts'
import { manualClock } from '../helpers/manual-clock.ts'
import { gatewayOver, keyOf, readByCursor, readByOffset } from '../helpers/pages.ts'

/** The last microsecond that is not in the future. */
const NOW = endOfMs(manualClock().now())

/** Few ids and instants, so that copies and ties are common; some instants lie in the future. */
const at = fc.oneof(
  { weight: 9, arbitrary: fc.nat(25) },
  fc.nat(3).map((n) => NOW + 1 + n),
)
const settings = { priority: fc.nat(2), surplus: fc.nat(6), isComplete: fc.boolean() }

type World = readonly (() => FakeSource)[]

/** One to four sources, each of them paged or whole. */
function worldOf(copy: fc.Arbitrary<{ id: number; at: number } & Partial<Item>>): fc.Arbitrary<World> {
  const copies = fc.uniqueArray(copy, { maxLength: 30, selector: ({ id }) => id })
  const sources = fc.array(fc.record({ ...settings, copies }), { minLength: 1, maxLength: 4 })
  return sources.map((all) =>
    all.map(({ copies, ...options }, n) => {
      const items = copies.map(({ id, at, ...fields }) => fakeItem(`l${id}`, at, fields))
      return () => fakeSource(`s${n}`, items, options)
    }),
  )
}

const PLAIN = worldOf(fc.record({ id: fc.nat(40), at, publisher: fc.constant('0xa') }))
const SHARED_IDS = worldOf(fc.record({ id: fc.nat(8), at, publisher: fc.constantFrom('0xa', '0xb') }))
const UNATTRIBUTED = worldOf(
  fc.record({
    id: fc.nat(8),
    at,
    publisher: fc.constantFrom(null, '0xa', '0xb'),
    storefrontUrl: fc.constantFrom(null, 'http://s', 'http://t'),
  }),
)
const SIZES = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 6 })
const RUNS = { numRuns: 150, includeErrorInReport: true }

for (const [what, worlds] of [
  ['each id is one listing', PLAIN],
  ['publishers share ids', SHARED_IDS],
] as const) {
  test(`${what}: a stream is the sequence, and pages by offset of any size are it, cut up`, (t) =>
    fc.assert(
      fc.asyncProperty(worlds, SIZES, async (world, sizes) => {
        const sources = world.map((make) => make())
        const expected = sequenceOf(sources)
        t.deepEqual((await readByOffset(sources, sizes)).map(keyOf), expected)
        const whole = await gatewayOver(sources).page({ limit: 200 })
        t.deepEqual(
          whole.items.map(({ item }) => keyOf(item)),
          expected,
        )
        t.is(whole.total, expected.length)
        t.is(whole.nextCursor, undefined)
        const lines = await gatewayOver(sources).lines()
        const streamed = lines.slice(0, -1).map(({ listing_id, _meta: meta }) => {
          return `${listing_id} ${(meta as { publisher: string }).publisher}`
        })
        t.deepEqual(streamed, expected)
        t.like(lines.at(-1), { _meta: { complete: true } })
      }),
      RUNS,
    ))

  test(`${what}: pages by cursor over whole sources are the sequence, on any replica`, (t) =>
    fc.assert(
      fc.asyncProperty(worlds, SIZES, async (world, sizes) => {
        const sources = world.map((make) =>
          Object.assign(make(), { isComplete: true, mode: 'snapshot' as const }),
        )
        t.deepEqual((await readByCursor(sources, sizes)).map(keyOf), sequenceOf(sources))
      }),
      RUNS,
    ))

  test(`${what}: pages by cursor lose no listing, and repeat only those that a paged source shares`, (t) =>
    fc.assert(
      fc.asyncProperty(worlds, SIZES, async (world, sizes) => {
        const sources = world.map((make) => make())
        const keys = (await readByCursor(sources, sizes)).map(keyOf)
        t.deepEqual([...new Set(keys)].sort(), sequenceOf(sources).sort())
        for (const key of keys.filter((key, n) => keys.indexOf(key) < n)) {
          const holders = sources.filter(({ items }) => items.some((item) => keyOf(item) === key))
          t.true(holders.length > 1 && holders.some(({ isComplete }) => !isComplete), key)
        }
      }),
      RUNS,
    ))
}

test('unknown publishers: no listing is lost, and none of a known publisher is repeated', (t) =>
  fc.assert(
    fc.asyncProperty(UNATTRIBUTED, SIZES, async (world, sizes) => {
      const sources = world.map((make) => make())
      const shown = (await gatewayOver(sources).page({ limit: 200 })).items.map(({ item }) => item)
      const ids = shown.map(({ listingId }) => listingId)
      t.deepEqual(
        (await readByOffset(sources, sizes)).map(({ listingId }) => listingId),
        ids,
      )
      t.deepEqual(mistakesIn(shown, sources), [])
      const walked = await readByCursor(sources, sizes)
      const copies = sources.flatMap(({ items }) => items)
      for (const copy of copies)
        t.true(
          walked.some((item) => isLinked(item, copy, copies)),
          keyOf(copy),
        )
    }),
    RUNS,
  ))

test('publishes and deletions between pages by cursor lose no listing that stays', (t) => {
  const change = fc.record({ source: fc.nat(), victim: fc.nat(30), at, add: fc.boolean() })
  return fc.assert(
    fc.asyncProperty(PLAIN, SIZES, fc.array(change, { maxLength: 12 }), async (world, sizes, changes) => {
      const sources = world.map((make) => make())
      const stays = new Set(sources.flatMap(({ items }) => items.map(({ listingId }) => listingId)))
      const todo = [...changes]
      const between = (page: number): void => {
        const next = todo.shift()
        if (next === undefined) return
        const { items } = sources[next.source % sources.length]!
        if (next.add) items.push(fakeItem(`new-${page}`, next.at))
        else for (const { listingId } of items.splice(next.victim, 1)) stays.delete(listingId)
      }
      const walked = await readByCursor(sources, sizes, { between })
      const ids = new Set(walked.map(({ listingId }) => listingId))
      t.deepEqual(
        [...stays].filter((id) => !ids.has(id)),
        [],
      )
    }),
    RUNS,
  )
})

/** What the rules of the merge give where every publisher is known: each listing at its newest copy. */
function sequenceOf(sources: readonly FakeSource[]): string[] {
  const ranked = sources.toSorted((a, b) => a.priority - b.priority || (a.name < b.name ? -1 : 1))
  const copies = ranked.flatMap(({ items }, rank) =>
    items.map((item) => ({ ...item, rank, place: Math.min(item.position, NOW) })),
  )
  copies.sort((a, b) => b.place - a.place || a.rank - b.rank || (a.listingId < b.listingId ? -1 : 1))
  return [...new Set(copies.map(keyOf))]
}

/** What is wrong with these listings as all that the sources have. */
function mistakesIn(shown: readonly Item[], sources: readonly FakeSource[]): string[] {
  const copies = sources.flatMap(({ items }) => items)
  const known = shown.filter(({ publisher }) => publisher !== null).map(keyOf)
  const repeated = known.filter((key, n) => known.indexOf(key) < n)
  const lost = copies.filter((copy) => !shown.some((item) => isLinked(item, copy, copies)))
  const joined = [...new Set(copies.map(({ listingId }) => listingId))].filter(
    (id) => shown.filter(({ listingId }) => listingId === id).length < publishersOf(id, copies),
  )
  return [
    ...repeated.map((key) => `${key} is shown twice`),
    ...lost.map((copy) => `${keyOf(copy)} at ${copy.storefrontUrl} is lost`),
    ...joined.map((id) => `${id} of several publishers is one listing`),
  ]
}

function publishersOf(id: string, copies: readonly Item[]): number {
  const own = copies.filter(({ listingId }) => listingId === id)
  return new Set(own.flatMap(({ publisher }) => publisher ?? [])).size
}

/** Whether two copies are one listing, or are linked as one by other copies: then both results are right. */
function isLinked(one: Item, other: Item, copies: readonly Item[]): boolean {
  const ofId = copies.filter(({ listingId }) => listingId === one.listingId)
  let linked: readonly Item[] = [one]
  for (let size = 0; size < linked.length; ) {
    size = linked.length
    linked = [one, ...ofId.filter((copy) => linked.some((of) => isSame(of, copy)))]
  }
  return linked.some((copy) => isSame(copy, other))
}

function isSame(a: Item, b: Item): boolean {
  if (a.listingId !== b.listingId) return false
  return (a.publisher === b.publisher && a.storefrontUrl === b.storefrontUrl) || isSameListing(a, b)
}
