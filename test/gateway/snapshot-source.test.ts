import test, { type ExecutionContext } from 'ava'
import type { Item, Page } from '../../src/domain/page.ts'
import type { ListingQuery } from '../../src/domain/query.ts'
import type { SavedSnapshot, SnapshotKeeping } from '../../src/domain/saved-snapshot.ts'
import { SourceError, type SourceReason } from '../../src/domain/source-error.ts'
import { compileFilter } from '../../src/filter-spec/compile-filter.ts'
import type { Filter } from '../../src/filter-spec/filter.ts'
import { parseCriteria } from '../../src/filter-spec/parameters.ts'
import { PULL_AGAIN_SECONDS, SAVE_EVERY_MS } from '../../src/gateway/snapshot-puller.ts'
import {
  createSnapshotSource,
  type SnapshotParts,
  type SnapshotSource,
} from '../../src/gateway/snapshot-source.ts'
import type { UpstreamSource } from '../../src/gateway/upstream-source.ts'
import type { Pull } from '../../src/upstream/pull-listings.ts'
import { listingText, listingTexts } from '../helpers/fake-registry.ts'
import { type ManualClock, manualClock } from '../helpers/manual-clock.ts'
import { itemOf, listingQuery } from './gateway-parts.ts'
import { eventually } from './upstream-parts.ts'

const REFRESH = 60

const filter = (name: string, field: string): Filter =>
  compileFilter({
    name,
    path: `$.offer_resource.${field}`,
    op: 'in',
    value_type: 'string',
    alias_kind: null,
    on_missing: 'fail',
    indexed: false,
  })
const MODEL = filter('gpu_model', 'gpu_model')
const REGION = filter('region', 'region')

const whole = (texts: readonly string[], invalid = 0): Pull => ({
  kind: 'whole',
  listings: new Map(texts.map(itemOf).map((item) => [item.listingId, item])),
  invalid,
})

/** What is pulled next: the next of these, the last one for all that follow. An error is thrown. */
type Script = (Pull | SourceError | Promise<Pull>)[]

type Subject = {
  source: SnapshotSource
  clock: ManualClock
  script: Script
  ask: (query?: Partial<ListingQuery>) => Promise<Page>
  /** Goes on by so many seconds; the pulls that are due come to their end. */
  pass: (seconds: number) => Promise<void>
  logged: string[]
}

const LIVE_PAGE: Page = { items: [], total: 77, ageSeconds: 0, stale: false }

const liveSource = (): UpstreamSource => ({
  source: { name: 'elsewhere', visibility: 'public', mode: 'live', priority: 3, ask: async () => LIVE_PAGE },
  spec: {
    name: 'elsewhere',
    kind: 'registry',
    visibility: 'public',
    priority: 3,
    spec: () => null,
    known: async () => null,
  },
  fetch: async () => {
    throw new Error('nobody fetches here')
  },
  refuse: () => {},
  status: () => ({
    name: 'elsewhere',
    mode: 'live',
    visibility: 'public',
    state: 'loaded',
    ageSeconds: 0,
    lastError: null,
    schemaId: null,
    filters: null,
    listings: null,
    breaker: { state: 'closed', failuresInARow: 0, retryAt: null },
    cache: { fresh: 0, stale: 0, miss: 0, bytes: 0 },
    calls: { made: 0, failed: 0, retried: 0, failuresByReason: {}, ended: 0, elapsedMs: 0 },
    items: { received: 0, invalid: 0 },
  }),
  refresh: () => {},
  close: () => {},
})

const open = async (
  t: ExecutionContext,
  script: Script,
  parts: Partial<SnapshotParts> = {},
  { isPulled = true } = {},
): Promise<Subject> => {
  const clock = manualClock()
  const logged: string[] = []
  const log = (_about: object, message: string): void => void logged.push(message)
  const source = await createSnapshotSource({
    upstream: { name: 'elsewhere', refreshSeconds: REFRESH, maxListings: 10_000 },
    live: liveSource(),
    schema: null,
    filters: () => [MODEL],
    keeping: null,
    clock,
    random: () => 0.5,
    log: { info: log, warn: log },
    pull: async () => {
      const next = script.length > 1 ? script.shift() : script[0]
      if (next instanceof Error) throw next
      return next ?? t.fail()
    },
    ...parts,
  })
  t.teardown(() => source.close())
  const isIdle = (): boolean => clock.pending() > 0
  const subject: Subject = {
    source,
    clock,
    script,
    ask: (query) => source.source.ask(listingQuery(query), new AbortController().signal),
    pass: async (seconds) => {
      clock.advance(seconds * 1000)
      await eventually(isIdle)
    },
    logged,
  }
  if (isPulled) await eventually(isIdle)
  return subject
}

const ids = ({ items }: Page): string[] => items.map(({ listingId }) => listingId)
const texts = ({ items }: Page): string[] => items.map(({ bytes }) => Buffer.from(bytes).toString())
const filtered = (filters: Filter[], pairs: [string, string][]): Partial<ListingQuery> => ({
  filters: pairs,
  criteria: parseCriteria({ filters: new Map(filters.map((one) => [one.name, one])) }, pairs),
})

const failure = async (t: ExecutionContext, answer: Promise<Page>): Promise<SourceReason | undefined> =>
  (await t.throwsAsync(answer, { instanceOf: SourceError }))?.reason

const TIMEOUT = new SourceError('timeout', 'late')

test('open listings are answered from memory, to the byte, page by page', async (t) => {
  const items = listingTexts('a', 300)
  const { ask, source } = await open(t, [whole(items, 2)])
  const page = await ask({ offset: 190, limit: 20 })
  t.deepEqual(texts(page), items.slice(190, 210))
  t.like(page, { total: 300, stale: false, ageSeconds: 0, invalid: 2, cache: { outcome: 'hit' } })
  t.is(source.source.mode, 'snapshot')
  t.is(source.source.priority, 3)
  t.like(source.status(), { mode: 'snapshot', state: 'loaded', listings: 300, ageSeconds: 0 })
})

test('before the first pull it is not yet loaded, after a first pull that failed it is what the pull was', async (t) => {
  const first = Promise.withResolvers<Pull>()
  const { ask, source, script, pass } = await open(t, [first.promise, TIMEOUT], {}, { isPulled: false })
  t.is(await failure(t, ask()), 'not_yet_loaded')
  t.false(source.wasTried())
  t.is(source.status().state, 'not_yet_loaded')
  first.reject(TIMEOUT)
  await eventually(() => source.wasTried())
  t.is(await failure(t, ask()), 'timeout')
  t.like(source.status(), { state: 'unavailable', lastError: { reason: 'timeout' }, listings: null })
  script.splice(0, 2, whole(listingTexts('a', 1)))
  await pass(PULL_AGAIN_SECONDS)
  t.is((await ask()).total, 1)
})

test('any filter is answered exactly, indexed or not, and explained', async (t) => {
  const items = listingTexts('a', 30).map((text, n) =>
    listingText({
      ...JSON.parse(text),
      offer_resource: { gpu_model: n % 2 ? 'H100' : 'A100', ...(n % 3 ? { region: 'eu' } : {}) },
    }),
  )
  const { ask } = await open(t, [whole(items)])
  const both = filtered(
    [MODEL, REGION],
    [
      ['gpu_model', 'H100'],
      ['region', 'eu'],
    ],
  )
  const wanted = items.filter((_, n) => n % 2 && n % 3)
  t.deepEqual(texts(await ask(both)), wanted)
  t.deepEqual(texts(await ask({ ...both, offset: 3, limit: 4 })), wanted.slice(3, 7))
  const { explanation } = await ask({ ...filtered([MODEL], [['gpu_model', 'H100']]), explain: true })
  t.deepEqual(explanation?.excluded, [{ filter: 'gpu_model', byValue: 15, missing: 0 }])
})

test('a snapshot is indexed anew by what can be asked once that is more', async (t) => {
  let known = [MODEL]
  const { ask, pass } = await open(t, [whole(listingTexts('a', 250, { offer_resource: { region: 'eu' } }))], {
    filters: () => known,
  })
  known = [MODEL, REGION]
  await pass(REFRESH)
  t.is((await ask({ ...filtered([REGION], [['region', 'eu']]), limit: 1 })).total, 250)
})

test('a pull shows what came, went and changed, all at once', async (t) => {
  for (const count of [50, 1500]) {
    const before = listingTexts('a', count)
    const after = [
      listingText({ listing_id: 'new', created_at: '2027-01-01T00:00:00' }),
      ...before.slice(1).map((text) => text.replace('H100', 'A100')),
    ]
    const { ask, pass } = await open(t, [whole(before), whole(after)])
    const old = await ask({ limit: count })
    await pass(REFRESH)
    t.deepEqual(texts(await ask({ limit: 2000 })), after)
    t.deepEqual(texts(old), before)
    t.false(old.isCurrent?.())
  }
})

test('what a pull leaves as it was is not put anew', async (t) => {
  const { ask, pass } = await open(t, [whole(listingTexts('a', 5))])
  const [before] = (await ask()).items
  await pass(REFRESH)
  t.is((await ask()).items[0], before)
})

test('a pull that breaks changes nothing but the age; after two periods it is stale, for the reason of the last', async (t) => {
  const items = listingTexts('a', 3)
  const { ask, pass, source, logged } = await open(t, [whole(items), TIMEOUT])
  await pass(REFRESH)
  const page = await ask()
  t.deepEqual(texts(page), items)
  t.like(page, { stale: false, ageSeconds: REFRESH, reason: undefined })
  t.true(page.isCurrent?.())
  for (let n = 0; n < 5; n++) await pass(PULL_AGAIN_SECONDS)
  t.like(await ask(), {
    stale: true,
    ageSeconds: REFRESH + 5 * PULL_AGAIN_SECONDS,
    reason: 'timeout',
    cache: { outcome: 'stale' },
  })
  t.false(page.isCurrent?.())
  t.like(source.status(), { state: 'stale', listings: 3, lastError: { reason: 'timeout' } })
  t.is(logged.length, 1)
})

test('what an upstream shows us no longer is not shown, until it does again', async (t) => {
  const refused = new SourceError('unauthorized', 'no')
  const { ask, pass, source, script } = await open(t, [whole(listingTexts('a', 3)), refused])
  await pass(REFRESH)
  t.is(await failure(t, ask()), 'unauthorized')
  t.like(source.status(), { state: 'unavailable', listings: null })
  script.splice(0, 1, TIMEOUT)
  await pass(PULL_AGAIN_SECONDS)
  t.is((await ask()).total, 3)
})

test('it is pulled anew every period, and becomes current again', async (t) => {
  const { ask, pass, script } = await open(t, [whole([]), TIMEOUT])
  await pass(REFRESH)
  script.splice(0, 1, whole(listingTexts('a', 4)))
  await pass(PULL_AGAIN_SECONDS)
  t.like(await ask(), { total: 4, stale: false, ageSeconds: 0 })
  script.splice(0, 1, whole(listingTexts('a', 5)))
  await pass(REFRESH - 1)
  t.is((await ask()).total, 4)
  await pass(1)
  t.is((await ask()).total, 5)
})

test('periods differ by a tenth at most', async (t) => {
  for (const [random, seconds] of [
    [0, 0.9 * REFRESH],
    [0.9999, 1.1 * REFRESH],
  ] as const) {
    const { ask, pass } = await open(t, [whole([]), whole(listingTexts('a', 1))], { random: () => random })
    await pass(seconds - 1)
    t.is((await ask()).total, 0)
    await pass(1)
    t.is((await ask()).total, 1)
  }
})

test('more than max_listings is asked live, says so, and is held again once it is fewer', async (t) => {
  const { ask, pass, source, script, logged } = await open(t, [{ kind: 'too_many', total: 20_000 }])
  t.is(await ask(), LIVE_PAGE)
  t.is(source.source.mode, 'live')
  t.true(source.wasTried())
  t.like(source.status(), { mode: 'live', lastError: { reason: 'too_large' } })
  await pass(REFRESH)
  t.is(logged.length, 1)
  t.regex(logged[0] ?? '', /max_listings.*live/)
  script.splice(0, 1, whole(listingTexts('a', 2)))
  await pass(REFRESH)
  t.is((await ask()).total, 2)
  t.is(source.source.mode, 'snapshot')
})

test('what is not open is asked live, no further than a live source', async (t) => {
  const { ask } = await open(t, [whole(listingTexts('a', 2))])
  t.is(await ask({ status: 'closed' }), LIVE_PAGE)
  t.is(await ask({ status: null, offset: 1990, limit: 10 }), LIVE_PAGE)
  t.is(await failure(t, ask({ status: null, offset: 1991, limit: 10 })), 'scan_limit')
  t.is(await ask({ status: null, offset: 5000, limit: 200, reading: 'stretch' }), LIVE_PAGE)
  t.is((await ask({ offset: 9000 })).total, 2)
})

test("a publisher's own are held where every publisher is known, and else asked live", async (t) => {
  const signed = (text: string, publisher: string | null): [string, Item] => {
    const item = { ...itemOf(text), publisher }
    return [item.listingId, item]
  }
  const [one = '', two = '', three = ''] = listingTexts('a', 3)
  const known: Pull = {
    kind: 'whole',
    invalid: 0,
    listings: new Map([signed(one, '0xa'), signed(two, '0xb')]),
  }
  const more: Pull = { ...known, listings: new Map([...known.listings, signed(three, null)]) }
  const { ask, pass } = await open(t, [known, more, known])
  t.deepEqual(ids(await ask({ publisher: '0xb' })), ['a-0001'])
  t.is((await ask({ publisher: '0xc' })).total, 0)
  await pass(REFRESH)
  t.is(await ask({ publisher: '0xb' }), LIVE_PAGE)
  await pass(REFRESH)
  t.is((await ask({ publisher: '0xb' })).total, 1)
})

test('an upstream of another schema is not shown', async (t) => {
  const live = liveSource()
  const spec = { etag: null, schemaId: 'tokens.api', filters: new Map(), registries: new Map() }
  const { ask } = await open(t, [whole(listingTexts('a', 1))], {
    live: { ...live, spec: { ...live.spec, spec: () => spec } },
    schema: 'vms.compute',
  })
  t.is(await failure(t, ask()), 'schema_mismatch')
})

test('a refresh pulls at once, and again where a pull was under way', async (t) => {
  const held = Promise.withResolvers<Pull>()
  const { ask, source, pass } = await open(t, [whole([]), held.promise, whole(listingTexts('a', 2))])
  source.refresh()
  source.refresh()
  held.resolve(whole(listingTexts('a', 1)))
  await pass(0)
  t.is((await ask()).total, 2)
})

const inMemory = (saved: SavedSnapshot | null = null): SnapshotKeeping & { saves: SavedSnapshot[] } => {
  const saves: SavedSnapshot[] = []
  return {
    saves,
    load: async () => saves.at(-1) ?? saved,
    save: async (snapshot) => void saves.push({ ...snapshot, listings: new Map(snapshot.listings) }),
  }
}

test('what was saved is there at once after a restart, as stale, until the first pull ends', async (t) => {
  const keeping = inMemory()
  const items = listingTexts('a', 3)
  const before = await open(t, [whole(items)], { keeping })
  await before.source.close()
  const first = Promise.withResolvers<Pull>()
  const { ask, source } = await open(t, [first.promise], { keeping }, { isPulled: false })
  t.false(source.wasTried())
  t.deepEqual(texts(await ask()), items)
  t.like(await ask(), { stale: true, total: 3, reason: undefined })
  first.resolve(whole(items))
  await eventually(() => source.wasTried())
  t.like(await ask(), { stale: false, total: 3 })
})

test('what a gateway missed is known after a restart, and what was held of it is still there, of its age', async (t) => {
  const keeping = inMemory()
  const behind = (text: string, registry: string): [string, Item] => {
    const item = itemOf(text)
    return [item.listingId, { ...item, origin: { registry, alsoIn: [], stale: false, differs: false } }]
  }
  const [one = '', two = ''] = listingTexts('a', 2)
  const all = new Map([behind(one, 'open'), behind(two, 'curated')])
  const gap = { registry: 'curated', state: 'unavailable', reason: 'timeout' } as const
  const pulls: Pull[] = [
    { kind: 'whole', listings: all, invalid: 0 },
    { kind: 'whole', listings: new Map([behind(one, 'open')]), invalid: 0, gaps: [gap] },
  ]
  const before = await open(t, [...pulls], { keeping })
  await before.pass(REFRESH)
  const held = await before.ask()
  t.deepEqual(texts(held), [one, two])
  t.deepEqual(
    held.items.map(({ origin }) => origin?.stale),
    [false, true],
  )
  t.deepEqual(held.gaps, [{ ...gap, ageSeconds: REFRESH }])
  t.true(before.logged.some((line) => line.startsWith('it has not reached all')))
  await before.source.close()

  const first = Promise.withResolvers<Pull>()
  const { ask, source } = await open(
    t,
    [first.promise],
    { keeping, clock: before.clock },
    { isPulled: false },
  )
  t.like(await ask(), { stale: true, total: 2, gaps: [{ ...gap, ageSeconds: REFRESH }] })
  t.like(source.status(), { state: 'stale', gaps: [gap] })
  first.resolve(pulls[0]!)
  await eventually(() => source.wasTried())
  t.like(await ask(), { stale: false, total: 2, gaps: undefined })
})

test('it is saved once in a while, and at the end', async (t) => {
  const keeping = inMemory()
  const { pass, source } = await open(
    t,
    [whole([]), whole(listingTexts('a', 1)), whole(listingTexts('a', 2))],
    {
      keeping,
      upstream: { name: 'elsewhere', refreshSeconds: 10, maxListings: 10 },
    },
  )
  t.is(keeping.saves.length, 1)
  for (let passed = 10; passed < SAVE_EVERY_MS / 1000; passed += 10) await pass(10)
  t.is(keeping.saves.length, 1)
  await pass(10)
  t.is(keeping.saves.length, 2)
  await source.close()
  t.is(keeping.saves.at(-1)?.listings.size, 2)
})

test('what cannot be read or saved costs nothing but a line in the log', async (t) => {
  const broken: SnapshotKeeping = {
    load: () => Promise.reject(new Error('no')),
    save: () => Promise.reject(new Error('no')),
  }
  const { ask, logged } = await open(t, [whole(listingTexts('a', 3))], { keeping: broken })
  t.is((await ask()).total, 3)
  t.is(logged.length, 2)
})
