import test from 'ava'
import fc from 'fast-check'
import { type MergedItem, merge } from '../../src/domain/merge.ts'
import type { Item, NamedSource } from '../../src/domain/page.ts'
import { SourceError } from '../../src/domain/source-error.ts'
import { Walk } from '../../src/gateway/walk.ts'
import { listingQuery } from './gateway-parts.ts'
import { contestedWorlds, copyOf, itemOf, mistakesIn, sourceOf, type World, worlds } from './worlds.ts'

/** Every run makes worlds of its own. Tried with `WALK_RUNS=8000`, several times over. */
const RUNS = { numRuns: Number(process.env.WALK_RUNS ?? 200) }

const never = new AbortController().signal
const query = listingQuery()

const registryOf = (name: string, priority: number, items: Item[], size = 200): NamedSource =>
  sourceOf({ name, priority, items, size, behind: 0, isWhole: false })

const walkAll = async (walk: Walk, limit = Number.POSITIVE_INFINITY): Promise<MergedItem[]> => {
  const all: MergedItem[] = []
  for (;;) {
    const some = await walk.next(limit, never)
    if (some.length === 0) return all
    all.push(...some)
  }
}

const idsOf = (items: readonly MergedItem[]): string[] => items.map(({ item }) => item.listingId)

const wholeOf = async (parts: readonly World[]): Promise<MergedItem[]> => {
  const answers = await Promise.all(
    parts
      .map(sourceOf)
      .map(async (source) => ({ source, page: await source.ask({ ...query, limit: 200 }, never) })),
  )
  return merge(answers, { offset: 0, limit: 10_000 }).items
}

test('every listing comes exactly once, however its copies are spread', async (t) => {
  await fc.assert(
    fc.asyncProperty(worlds, fc.integer({ min: 1, max: 9 }), async (parts, limit) => {
      const walked = await walkAll(new Walk(parts.map(sourceOf), query), limit)
      const wanted = new Set(parts.flatMap(({ items }) => items.map(({ listingId }) => listingId)))
      t.deepEqual(idsOf(walked).sort(), [...wanted].sort())
    }),
    RUNS,
  )
})

test('where every source is read whole in one stretch, the walk is the merged sequence itself', async (t) => {
  await fc.assert(
    fc.asyncProperty(worlds, async (parts) => {
      const sources = parts.map((part) => sourceOf({ ...part, size: 200 }))
      t.deepEqual(await walkAll(new Walk(sources, query)), await wholeOf(parts))
    }),
    RUNS,
  )
})

test('where every source can be looked up, the walk is the merged sequence, whatever is read at a time', async (t) => {
  await fc.assert(
    fc.asyncProperty(worlds, async (parts) => {
      const sources = parts.map((part) => sourceOf({ ...part, isWhole: true }))
      const places = (items: readonly MergedItem[]): unknown =>
        items.map(({ item, registry }) => [item.listingId, registry])
      t.deepEqual(places(await walkAll(new Walk(sources, query))), places(await wholeOf(parts)))
    }),
    RUNS,
  )
})

test('two publishers of one id are never taken for one, nor one for two, whoever knows of them', async (t) => {
  await fc.assert(
    fc.asyncProperty(contestedWorlds, fc.integer({ min: 1, max: 9 }), async (parts, limit) => {
      const walked = (await walkAll(new Walk(parts.map(sourceOf), query), limit)).map(({ item }) => item)
      t.deepEqual(mistakesIn(walked, parts), [])
    }),
    RUNS,
  )
})

test('gone on with from any place, the walk shows what is left, in the same order', async (t) => {
  await fc.assert(
    fc.asyncProperty(worlds, fc.nat(), async (parts, cut) => {
      const sources = parts.map(sourceOf)
      const whole = await walkAll(new Walk(sources, query))
      if (whole.length === 0) return
      const first = new Walk(sources, query, { isPage: true })
      const shown: MergedItem[] = []
      const wanted = 1 + (cut % whole.length)
      while (shown.length < wanted) shown.push(...(await first.next(wanted - shown.length, never)))
      const { standing: from, history } = first
      const rest = await walkAll(new Walk(sources, query, { from, history, isPage: true }), 3)
      t.deepEqual(idsOf([...shown, ...rest]), idsOf(whole))
      const forgotten = await walkAll(new Walk(sources, query, { from, isPage: true }), 3)
      t.deepEqual(idsOf([...shown, ...forgotten]), idsOf(whole))
    }),
    RUNS,
  )
})

test('publishing and deleting meanwhile neither repeats nor loses what stays as it was', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      worlds,
      fc.array(fc.record({ source: fc.nat(), victim: fc.nat(), add: fc.boolean() }), { maxLength: 12 }),
      async (world, changes) => {
        const parts = copyOf(world)
        const stays = new Set(parts.flatMap(({ items }) => items.map(({ listingId }) => listingId)))
        const gone = new Set<string>()
        const walk = new Walk(parts.map(sourceOf), query)
        const walked: MergedItem[] = []
        for (const [n, { source, victim, add }] of changes.entries()) {
          walked.push(...(await walk.next(2, never)))
          const { items } = parts[source % parts.length]!
          if (add) items.unshift(itemOf(`new-${n}`, 100 + n))
          else if (items.length > 0) gone.add(items.splice(victim % items.length, 1)[0]!.listingId)
        }
        walked.push(...(await walkAll(walk, 2)))
        const ids = idsOf(walked)
        t.is(new Set(ids).size, ids.length, 'no repeats')
        for (const id of stays) if (!gone.has(id)) t.true(ids.includes(id), `${id} was lost`)
      },
    ),
    RUNS,
  )
})
test('a source that fails midway is left behind with its reason, and the others are walked to their end', async (t) => {
  const good = registryOf(
    'good',
    1,
    Array.from({ length: 50 }, (_, n) => itemOf(`g${n}`, n)),
    10,
  )
  const bad = registryOf(
    'bad',
    2,
    Array.from({ length: 50 }, (_, n) => itemOf(`b${n}`, n)),
    10,
  )
  let asked = 0
  const failing: NamedSource = {
    ...bad,
    ask: (question, signal) => {
      if (++asked === 3) throw new SourceError('connection_reset', 'x')
      return bad.ask(question, signal)
    },
  }
  const walk = new Walk([good, failing], query)
  const ids = idsOf(await walkAll(walk))
  t.is(ids.filter((id) => id.startsWith('g')).length, 50)
  t.true(ids.some((id) => id.startsWith('b')) && ids.filter((id) => id.startsWith('b')).length < 50)
  t.true(walk.outcomes[1]!.result instanceof SourceError)
})

test('a source that repeats its pages for ever is found out', async (t) => {
  const items = Array.from({ length: 100 }, (_, n) => itemOf(`a${n}`, n))
  const endless: NamedSource = {
    ...registryOf('endless', 1, items),
    ask: async () => ({ items: items.toReversed(), total: 1_000_000, ageSeconds: 0, stale: false }),
  }
  const walk = new Walk([endless], query)
  t.is((await walkAll(walk)).length, 100)
  t.like(walk.outcomes[0]!.result, { reason: 'bad_envelope' })
})

test('any number of listings of one instant come once each, in bounded memory', async (t) => {
  const crowd = registryOf(
    'crowd',
    1,
    Array.from({ length: 5000 }, (_, n) => itemOf(`c${n}`, 7)),
  )
  const other = registryOf('other', 2, [itemOf('o', 7), itemOf('older', 3)])
  const ids = idsOf(await walkAll(new Walk([crowd, other], query), 150))
  t.is(new Set(ids).size, ids.length)
  t.is(ids.length, 5002)
})
