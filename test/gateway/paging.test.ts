import test from 'ava'
import fc from 'fast-check'
import type { Reader } from '../../src/domain/api-key.ts'
import type { Item, NamedSource } from '../../src/domain/page.ts'
import { EntrepotError } from '../../src/errors.ts'
import { Cursors } from '../../src/gateway/cursor.ts'
import { fanOut, type MergedAnswer } from '../../src/gateway/fan-out.ts'
import { Paging } from '../../src/gateway/paging.ts'
import { listingQuery } from './gateway-parts.ts'
import { contestedWorlds, copyOf, itemOf, mistakesIn, sourceOf, type World, worlds } from './worlds.ts'

/** Every run makes worlds of its own. Tried with `WALK_RUNS=8000`, several times over. */
const RUNS = { numRuns: Number(process.env.WALK_RUNS ?? 100) }

const reader: Reader = { kind: 'anonymous' }
const { signal } = new AbortController()

type Page = MergedAnswer & { nextCursor: string | undefined }

/** One gateway over these sources, or, by the same secret, another replica of it. */
const gatewayOver = (sources: readonly NamedSource[]) => {
  const budgetMs = 10_000
  const federation = fanOut(sources, { budgetMs })
  const paging = new Paging({ sources, budgetMs, cursors: new Cursors('one for all replicas', () => 0) })
  return {
    first: async (offset: number, limit: number): Promise<Page> => {
      const query = listingQuery({ offset, limit })
      const answer = await federation(query, reader, signal)
      return { ...answer, nextCursor: paging.cursorBehind(answer, query, {}) }
    },
    behind: (cursor: string, limit: number): Promise<Page> =>
      paging.pageBehind(cursor, listingQuery({ limit }), { reader, signal, asking: {} }),
  }
}

const idsOf = ({ items }: Page): string[] => items.map(({ item }) => item.listingId)

const idsIn = (parts: readonly World[]): Set<string> =>
  new Set(parts.flatMap(({ items }) => items.map(({ listingId }) => listingId)))

/** How one page after the other is asked for. */
const step = fc.record({
  limit: fc.integer({ min: 1, max: 9 }),
  /** Asked for before, too, in other pages, and gone on with from there for a while. */
  detour: fc.option(fc.integer({ min: 1, max: 9 }), { freq: 3 }),
  /** By a replica that does not remember the walk. */
  isForgotten: fc.boolean(),
  change: fc.option(fc.record({ source: fc.nat(), victim: fc.nat(), add: fc.boolean() })),
})

const steps = fc.array(step, { minLength: 1, maxLength: 8 })

/** To the end, doing with the nth page what the nth step says, over and over. `before` each but the first. */
const readAll = async (
  parts: readonly World[],
  offset: number,
  todo: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[],
  before: (page: number) => void = () => {},
): Promise<Item[]> => {
  const sources = parts.map(sourceOf)
  const gateway = gatewayOver(sources)
  let page = await gateway.first(offset, todo[0]!.limit)
  const items = page.items.map(({ item }) => item)
  for (let n = 1; page.nextCursor !== undefined; n++) {
    before(n)
    const { limit, detour, isForgotten } = todo[n % todo.length]!
    const cursor = page.nextCursor
    if (detour !== null) {
      const aside = await gateway.behind(cursor, detour)
      if (aside.nextCursor !== undefined) await gateway.behind(aside.nextCursor, detour)
    }
    page = await (isForgotten ? gatewayOver(sources) : gateway).behind(cursor, limit)
    items.push(...page.items.map(({ item }) => item))
  }
  return items
}

const readIds = async (...parameters: Parameters<typeof readAll>): Promise<string[]> =>
  (await readAll(...parameters)).map(({ listingId }) => listingId)

test('from the first page to the last, by whichever replica and however often it is asked: each listing once', async (t) => {
  await fc.assert(
    fc.asyncProperty(worlds, steps, async (parts, todo) => {
      const ids = await readIds(parts, 0, todo)
      t.deepEqual(ids.toSorted(), [...idsIn(parts)].sort())
    }),
    RUNS,
  )
})

test('page by page, too, two publishers of one id are never taken for one, nor one for two', async (t) => {
  await fc.assert(
    fc.asyncProperty(contestedWorlds, steps, async (parts, todo) => {
      const remembered = todo.map((one) => ({ ...one, isForgotten: false }))
      t.deepEqual(mistakesIn(await readAll(parts, 0, remembered), parts), [])
    }),
    RUNS,
  )
})

test('behind a page at an offset comes all that is not before its end', async (t) => {
  await fc.assert(
    fc.asyncProperty(worlds, steps, fc.integer({ min: 1, max: 20 }), async (parts, todo, offset) => {
      const { items, shown } = await gatewayOver(parts.map(sourceOf)).first(offset, todo[0]!.limit)
      if (items.length === 0) return
      const before =
        parts.length === 1
          ? idsOf(await gatewayOver(parts.map(sourceOf)).first(0, offset))
          : shown.slice(0, offset).map(({ item }) => item.listingId)
      const ids = await readIds(parts, offset, todo)
      t.deepEqual([...before, ...ids].toSorted(), [...idsIn(parts)].sort())
    }),
    RUNS,
  )
})

test('where all can be looked up, the pages are the merged sequence cut up', async (t) => {
  await fc.assert(
    fc.asyncProperty(worlds, steps, async (parts, todo) => {
      const held = parts.map((part) => ({ ...part, isWhole: true }))
      const whole = await gatewayOver(held.map(sourceOf)).first(0, 200)
      t.deepEqual(await readIds(held, 0, todo), idsOf(whole))
    }),
    RUNS,
  )
})

test('what is published and deleted between pages neither repeats nor loses what stays as it was', async (t) => {
  await fc.assert(
    fc.asyncProperty(worlds, steps, async (world, todo) => {
      const parts = copyOf(world)
      const stays = idsIn(parts)
      const ids = await readIds(parts, 0, todo, (page) => {
        const { change } = todo[page % todo.length]!
        if (change === null || page > 12) return
        const { items } = parts[change.source % parts.length]!
        if (change.add) items.push(itemOf(`new-${page}`, change.victim % 30))
        else if (items.length > 0) stays.delete(items.splice(change.victim % items.length, 1)[0]!.listingId)
      })
      for (const id of stays) t.true(ids.includes(id), `${id} was lost`)
      // Who does not remember cannot know what was shown of what is gone.
      const isRemembered = todo.every(({ isForgotten }) => !isForgotten)
      const known = isRemembered ? ids : ids.filter((id) => stays.has(id))
      t.deepEqual(known.toSorted(), [...new Set(known)].sort(), 'no repeats')
    }),
    RUNS,
  )
})

test('whoever goes on from one cursor, and whatever changes between them, each comes to see all that stays, once', async (t) => {
  const turn = fc.record({
    reader: fc.nat(),
    limit: fc.integer({ min: 1, max: 9 }),
    /** Somebody else starts from where this reader stands. */
    isJoined: fc.boolean(),
    change: fc.option(fc.record({ source: fc.nat(), victim: fc.nat(), add: fc.boolean() })),
  })
  await fc.assert(
    fc.asyncProperty(worlds, fc.array(turn, { maxLength: 25 }), async (world, turns) => {
      const parts = copyOf(world)
      const stays = idsIn(parts)
      const gateway = gatewayOver(parts.map(sourceOf))
      const first = await gateway.first(0, 3)
      const readers = [{ cursor: first.nextCursor, ids: idsOf(first) }]
      const goOn = async (
        one: { cursor: string | undefined; ids: string[] },
        limit: number,
      ): Promise<void> => {
        if (one.cursor === undefined) return
        const page = await gateway.behind(one.cursor, limit)
        one.cursor = page.nextCursor
        one.ids.push(...idsOf(page))
      }
      for (const [n, { reader, limit, isJoined, change }] of turns.entries()) {
        const one = readers[reader % readers.length]!
        if (isJoined) readers.push({ ...one, ids: [...one.ids] })
        await goOn(one, limit)
        if (change === null) continue
        const { items } = parts[change.source % parts.length]!
        if (change.add) items.push(itemOf(`new-${n}`, change.victim % 30))
        else if (items.length > 0) stays.delete(items.splice(change.victim % items.length, 1)[0]!.listingId)
      }
      for (const one of readers) {
        while (one.cursor !== undefined) await goOn(one, 7)
        t.is(new Set(one.ids).size, one.ids.length, 'no repeats')
        for (const id of stays) t.true(one.ids.includes(id), `${id} was lost`)
      }
    }),
    RUNS,
  )
})

test('a source that fails is told of; what came is never repeated, and the cursor leads to the rest later', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      worlds,
      fc.array(fc.nat(3), { maxLength: 12 }),
      fc.integer({ min: 1, max: 9 }),
      async (world, outages, limit) => {
        const parts = copyOf(world)
        const gateway = gatewayOver(parts.map(sourceOf))
        let page = await gateway.first(0, limit)
        const ids = idsOf(page)
        for (let n = 0; page.nextCursor !== undefined; n++) {
          const down = parts[outages[n] ?? -1]
          if (down !== undefined) {
            down.isDown = true
            const during = await gateway.behind(page.nextCursor, limit).catch((error: unknown) => error)
            if (during instanceof EntrepotError) t.is(during.code, 'unavailable')
            else t.like(during, { complete: false })
            down.isDown = false
          }
          page = await gateway.behind(page.nextCursor, limit)
          t.true(page.complete)
          ids.push(...idsOf(page))
        }
        t.deepEqual(ids.toSorted(), [...idsIn(parts)].sort())
      },
    ),
    RUNS,
  )
})

test('gone on with while a source is out, the walk repeats nothing, and loses nothing that the others have', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      worlds,
      fc.array(fc.nat(3), { maxLength: 12 }),
      fc.integer({ min: 1, max: 9 }),
      async (world, outages, limit) => {
        const parts = copyOf(world)
        const gateway = gatewayOver(parts.map(sourceOf))
        const failed = new Set<World>()
        let page = await gateway.first(0, limit)
        const ids = idsOf(page)
        for (let n = 0; page.nextCursor !== undefined; n++) {
          const down = parts[outages[n] ?? -1]
          if (down !== undefined && parts.length > 1) {
            down.isDown = true
            failed.add(down)
          }
          page = await gateway.behind(page.nextCursor, limit)
          t.is(page.complete, !parts.some(({ isDown }) => isDown))
          ids.push(...idsOf(page))
          for (const part of parts) part.isDown = false
        }
        t.is(new Set(ids).size, ids.length, 'no repeats')
        const elsewhere = idsIn([...failed])
        for (const id of idsIn(parts)) if (!elsewhere.has(id)) t.true(ids.includes(id), `${id} was lost`)
      },
    ),
    RUNS,
  )
})

test('through a crowd of one instant, which its Registry leaves in any order, cursors lead to each listing once', async (t) => {
  const crowd = (name: string, count: number): Item[] =>
    Array.from({ length: count }, (_, n) => itemOf(`${name}-${(n * 7919) % count}`, 7))
  const bulk = crowd('bulk', 2600)
  const unsorted = (name: string, items: readonly Item[]): NamedSource => ({
    ...sourceOf({ name, priority: 0, items: [], size: 200, behind: 0, isWhole: false }),
    ask: async ({ offset, limit }) => ({
      items: items.slice(offset, offset + limit),
      total: items.length,
      ageSeconds: 0,
      stale: false,
    }),
  })
  for (const sources of [
    [unsorted('alone', bulk)],
    [unsorted('a', bulk), unsorted('b', [...crowd('b', 300), ...bulk.slice(0, 900), itemOf('older', 3)])],
  ]) {
    const gateway = gatewayOver(sources)
    let page = await gateway.first(0, 200)
    const ids = idsOf(page)
    while (page.nextCursor !== undefined) {
      page = await gateway.behind(page.nextCursor, 200)
      ids.push(...idsOf(page))
    }
    t.is(new Set(ids).size, ids.length, 'no repeats')
    t.is(ids.length, sources.length === 1 ? 2600 : 2901)
  }
})
