import test from 'ava'
import { type Answer, askPage, type Page, type Shown, type SourceState } from './ask.ts'
import { judge } from './oracle.ts'
import { runWorld } from './run.ts'
import { ANY_LISTING, startWorld, type World } from './world.ts'

/**
 * Worlds with replicas, liars, own Registries, gateways over gateways, and sources that are away, or held in part. In 850622 a
 * source grows beyond its bound during its pull, in 880059 a listing has the id of one too large to read.
 */
const WORLDS = [
  ...[3, 30, 38, 55].map((seed) => ({ seed, answers: 20 })),
  ...[850622, 880059].map((seed) => ({ seed, answers: 30 })),
]

for (const { seed, answers } of WORLDS)
  test.serial(`every answer is right while the Registries change, seed ${seed}`, async (t) => {
    const { faults, ...counts } = await runWorld(seed, { answers })
    t.log(`seed ${seed}: ${JSON.stringify(counts)}`)
    t.deepEqual(faults, [])
    t.true(counts.required > 0 && counts.exact > 0)
  })

const QUESTION = { ...ANY_LISTING, status: 'open' } as const

/** The first page of a world that has a full one, made of what was read since the world began. */
async function firstPage(world: World): Promise<Answer & { pages: [Page] }> {
  const ask = () => askPage({ url: world.urls[0]!, now: () => world.history.now() }, QUESTION, '&limit=50')
  await world.pass(160_000)
  await ask()
  await world.pass(60_000)
  const page = await ask()
  const isToEnd = page.nextCursor === null
  return { asked: 'page', kind: 'page', question: QUESTION, pages: [page], offset: 0, limit: 50, isToEnd }
}

/** A world without another gateway, where a liar is worse than a Registry that it copies. */
const LIARS = 44
/** A world where `c` is held in part, and better than `d`. */
const IN_PART = 3

test.serial('the oracle finds what is wrong with an answer', async (t) => {
  const world = await startWorld(LIARS)
  t.teardown(() => world.close())
  const right = await firstPage(world)
  const [page] = right.pages
  const { items, sources } = page
  t.is(items.length, 50)
  const faultsOf = (change: Partial<Page>): string =>
    judge({ ...right, pages: [{ ...page, ...change }] }, world).faults.join('\n')
  const altered = (change: Partial<Shown>): Shown[] => items.with(20, { ...items[20]!, ...change })
  const firstSource = (change: Partial<SourceState>) => sources.with(0, { ...sources[0]!, ...change })

  t.is(faultsOf({}), '')
  const withoutOne = items.toSpliced(20, 1)
  const returned = sources.map((source) =>
    source.registry === items[20]!.registry.split('/')[0]
      ? { ...source, returned: source.returned! - 1 }
      : source,
  )
  t.regex(faultsOf({ items: withoutOne, sources: returned }), /is missing/)
  t.regex(faultsOf({ items: items.with(21, items[20]!) }), /twice in one answer/)
  const older = items.findIndex(({ createdAt }, n) => n > 0 && createdAt < items[n - 1]!.createdAt)
  const swapped = items.with(older - 1, items[older]!).with(older, items[older - 1]!)
  t.regex(faultsOf({ items: swapped }), /comes after/)
  const copied = items.findIndex(({ alsoIn }) => alsoIn.length > 0)
  const { listingId, alsoIn } = items[copied]!
  const { text, createdAt } = world.history.of(alsoIn[0]!, listingId).at(-1)!
  const worse = { ...items[copied]!, registry: alsoIn[0]!, alsoIn: [], text, createdAt }
  t.regex(faultsOf({ items: items.with(copied, worse) }), /is better/)
  t.regex(faultsOf({ items: altered({ text: '{}' }) }), /did not hold/)
  t.regex(faultsOf({ items: altered({ unchecked: ['b'] }) }), /is unchecked in b/)
  t.regex(faultsOf({ items: altered({ notIn: ['c'] }) }), /which is not better/)
  t.regex(faultsOf({ items: altered({ alsoIn: ['c'] }) }), /is not in c/)
  t.regex(faultsOf({ items: altered({ price: '1' }) }), /has the price 1/)
  t.regex(faultsOf({ total: 50 }), /total is/)
  t.regex(faultsOf({ unchecked: 1 }), /unchecked is 1/)
  t.regex(faultsOf({ complete: false }), /complete is false/)
  t.regex(faultsOf({ sources: firstSource({ state: 'unavailable' }) }), /unavailable/)
  const inPart = firstSource({ state: 'partial', reason: 'too_large', held: 1, of: 2 })
  t.regex(faultsOf({ complete: false, sources: inPart }), /"partial"/)
  t.regex(faultsOf({ sources: sources.slice(1) }), /sources are/)
})

test.serial('the oracle finds what is wrong with an answer of a source that is held in part', async (t) => {
  const world = await startWorld(IN_PART)
  t.teardown(() => world.close())
  const right = await firstPage(world)
  const [page] = right.pages
  const { items, sources } = page
  const faultsOf = (change: Partial<Page>): string =>
    judge({ ...right, pages: [{ ...page, ...change }] }, world).faults.join('\n')
  const partOf = (change: Partial<SourceState>) =>
    sources.map((source) => (source.registry === 'c' ? { ...source, ...change } : source))

  t.is(faultsOf({}), '')
  t.regex(faultsOf({ complete: true }), /complete is true/)
  t.regex(faultsOf({ sources: partOf({ held: 21 }) }), /"partial"/)
  t.regex(faultsOf({ sources: partOf({ reason: 'timeout', age_seconds: 5 }) }), /"partial"/)
  const known = items.map((item) => ({ ...item, unchecked: [] }))
  t.regex(faultsOf({ items: known, unchecked: 0 }), /is not unchecked in c/)
  const newest = items.findIndex(({ registry }) => registry === 'c')
  const [fewer, returned] = [
    items.toSpliced(newest, 1),
    sources.find(({ registry }) => registry === 'c')!.returned! - 1,
  ]
  t.regex(faultsOf({ items: fewer, sources: partOf({ returned }) }), /of c is missing/)
})
