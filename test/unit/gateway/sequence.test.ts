import test, { type ExecutionContext } from 'ava'
import fc from 'fast-check'
import { identityKey } from '../../../src/domain/listing-identity.ts'
import { SEES_ALL } from '../../../src/domain/reader.ts'
import type { Item } from '../../../src/domain/source/item.ts'
import { endOfMs } from '../../../src/domain/timestamp.ts'
import { REGISTRY_FACET, readFacets } from '../../../src/gateway/counts/facets.ts'
import type { MergedItem } from '../../../src/gateway/pages/merged-item.ts'
import { type FakeItem, type FakeSource, fakeItem, fakeSource, refusalOf } from '../../helpers/fake-source.ts'
import { manualClock } from '../../helpers/manual-clock.ts'
import { type Asked, type Expected, expectedOf } from '../../helpers/market-model.ts'
import { gatewayOver, MODEL, readByCursor, readByOffset, settingsOver } from '../../helpers/pages.ts'
import { runs } from '../../helpers/runs.ts'
import { filtered, listingQuery } from '../../helpers/upstream.ts'

/** The last microsecond that is not of the future, as far as clocks may differ. */
const NOW = endOfMs(manualClock().now() + 120_000)

/** Few ids, instants and sellers, so that copies, forgeries and ties are common; some dates lie in the future. */
const copy = fc.record({
  id: fc.nat(9),
  at: fc.oneof(
    { weight: 9, arbitrary: fc.nat(12) },
    fc.nat(3).map((n) => NOW + 1 + n),
    // Beyond 2^53.
    fc.constant(Date.UTC(9999, 11, 31) * 1000),
  ),
  publisher: fc.constantFrom('0xa', '0xa', '0xb', null),
  storefrontUrl: fc.constantFrom('http://s', 'http://t', null),
  model: fc.constantFrom('H200', 'A100'),
  status: fc.constantFrom('open' as const, 'open' as const, 'closed' as const),
})
type DrawnCopy = typeof copy extends fc.Arbitrary<infer C> ? C : never

const drawnSource = fc
  .record({
    coverage: fc.constantFrom('whole' as const, 'whole' as const, 'loading' as const),
    isGateway: fc.boolean(),
    failure: fc.oneof(
      { weight: 9, arbitrary: fc.constant(null) },
      fc.constantFrom('connection_refused' as const, 'unauthorized' as const, 'schema_mismatch' as const),
    ),
    priority: fc.nat(2),
    copies: fc.array(copy, { maxLength: 25 }),
  })
  .map(({ copies, ...drawn }) => {
    const keyOf = ({ id, publisher, storefrontUrl }: DrawnCopy) =>
      drawn.isGateway ? `${id} ${publisher ?? storefrontUrl}` : `${id}`
    const distinct = new Map(copies.map((one) => [keyOf(one), one]))
    return { ...drawn, copies: [...distinct.values()] }
  })
type DrawnSource = typeof drawnSource extends fc.Arbitrary<infer S> ? S : never

const world = fc.record({
  hasOwn: fc.boolean(),
  drawn: fc.array(drawnSource, { minLength: 2, maxLength: 4 }),
})
type World = { hasOwn: boolean; drawn: readonly DrawnSource[] }

function sourcesOf({ hasOwn, drawn }: World): FakeSource[] {
  return drawn.map(({ isGateway, failure, copies, ...options }, n) => {
    const isOwn = hasOwn && n === 0
    const items = copies
      // The own Registry has ids and publishers of its own.
      .filter(({ publisher }) => !isOwn || publisher !== null)
      .map(({ id, at, model, ...fields }) =>
        fakeItem(`l${id}`, at, { ...fields, offer: { gpu_model: model } }),
      )
    const ids = new Map(items.map((item) => [item.listingId, item]))
    return fakeSource(`s${n}`, isOwn ? [...ids.values()] : items, {
      ...options,
      ...(isOwn && { isOwn, coverage: 'whole' }),
      isGateway: isGateway && !isOwn,
      failure: isOwn ? null : failure,
    })
  })
}

const asked: fc.Arbitrary<Asked & { query: object }> = fc
  .record({ isFiltered: fc.boolean(), status: fc.constantFrom('open', 'open', 'open', 'closed', null) })
  .map(({ isFiltered, status }) => ({
    status: status as Asked['status'],
    ...(isFiltered && { matches: (item: FakeItem) => Buffer.from(item.bytes).includes('"H200"') }),
    query: { status, ...(isFiltered && filtered([MODEL], ['gpu_model', 'H200'])) },
  }))
const SIZES = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 6 })
const RUNS = { numRuns: runs(300), includeErrorInReport: true }

/** Whether an answer has to be there: not all sources are away, and something is shown where an upstream is. */
function isAnswerable(
  sources: readonly FakeSource[],
  expected: readonly Expected[],
  status: Asked['status'] = 'open',
): boolean {
  const answers = (source: FakeSource) => refusalOf(source, status) === null
  const isAsked = (source: FakeSource) => refusalOf(source, status)?.reason !== 'open_only'
  const upstreams = sources.filter((source) => !source.isOwn && isAsked(source))
  return sources.some(answers) && (expected.length > 0 || upstreams.length === 0 || upstreams.some(answers))
}

const textOf = (registry: string, item: Item): string =>
  `${registry} ${item.listingId} ${identityKey(item)} ${item.position}`

const describe = ({ item, registry, alsoIn, conflict, unchecked, notIn, disputed }: MergedItem): object => ({
  copy: textOf(registry, item),
  alsoIn,
  conflict,
  unchecked,
  notIn,
  disputed,
})

const describeExpected = ({ item, registry, ...about }: Expected): object => ({
  copy: textOf(registry, item),
  ...about,
})

test('merge: a page is the rule of authority, applied to all copies, with what is known of the others', (t) =>
  fc.assert(
    fc.asyncProperty(world, asked, async (drawn, { query, ...rule }) => {
      const sources = sourcesOf(drawn)
      const expected = expectedOf(sources, rule, NOW)
      if (!isAnswerable(sources, expected, rule.status)) return
      const page = await gatewayOver(sources).page({ limit: 200, ...query })
      t.deepEqual(page.items.map(describe), expected.map(describeExpected))
      t.is(page.total, expected.length)
      const isWhole = (one: FakeSource) => refusalOf(one, rule.status) === null && one.coverage === 'whole'
      t.is(page.complete, sources.every(isWhole))
      t.is(page.nextCursor, undefined)
    }),
    RUNS,
  ))

test('merge: pages by offset and by cursor of any size, and a stream, are one sequence', (t) =>
  fc.assert(
    fc.asyncProperty(world, SIZES, async (drawn, sizes) => {
      const sources = sourcesOf(drawn)
      const expected = expectedOf(sources, { status: 'open' }, NOW)
      if (!isAnswerable(sources, expected)) return
      const items = expected.map(({ item }) => textOf('', item))
      const texts = (all: readonly Item[]) => all.map((item) => textOf('', item))
      t.deepEqual(texts(await readByOffset(sources, sizes)), items)
      t.deepEqual(texts(await readByCursor(sources, sizes)), items)
      const lines = await gatewayOver(sources).lines()
      const streamed = lines
        .slice(0, -1)
        .map(({ listing_id, _meta }) => [listing_id, (_meta as Meta).registry])
      t.deepEqual(
        streamed,
        expected.map(({ item, registry }) => [item.listingId, registry]),
      )
    }),
    RUNS,
  ))

type Meta = { registry: string }

test('merge: a worse source changes nothing about the listings of better ones, whatever it claims', (t) =>
  fc.assert(
    fc.asyncProperty(world, drawnSource, asked, async (drawn, liar, { status, query }) => {
      const isThere = ({ failure, coverage }: FakeSource) => failure === null && coverage === 'whole'
      const honest = sourcesOf(drawn).filter(isThere)
      // Closed listings are of the own Registry alone.
      if (honest.length < 2 || status === 'closed') return
      const [forger] = sourcesOf({ hasOwn: false, drawn: [{ ...liar, failure: null, coverage: 'whole' }] })
      const worst = { ...forger!, name: 'liar', priority: 9 }
      const before = await shownOf(t, honest, query)
      const after = await shownOf(t, [...honest, worst], query)
      t.deepEqual(
        after
          .filter(({ registry }) => registry !== 'liar')
          .map(({ registry, item }) => textOf(registry, item)),
        before.map(({ registry, item }) => textOf(registry, item)),
      )
      const decided = honest.flatMap(({ items }) => items.filter(({ status = 'open' }) => status === 'open'))
      if (status === 'open')
        for (const { registry, item } of after)
          if (registry === 'liar' && identityKey(item) !== null)
            t.false(
              decided.some(
                (one) => one.listingId === item.listingId && identityKey(one) === identityKey(item),
              ),
            )
    }),
    RUNS,
  ))

async function shownOf(t: ExecutionContext, sources: readonly FakeSource[], query: object) {
  const page = await gatewayOver(sources).page({ limit: 200, ...query })
  t.true(page.complete)
  return page.items
}

test('merge: publishes and deletions between pages by cursor lose no listing that stays as it is', (t) => {
  const change = fc.record({ source: fc.nat(), victim: fc.nat(30), at: fc.nat(12), add: fc.boolean() })
  return fc.assert(
    fc.asyncProperty(world, SIZES, fc.array(change, { maxLength: 12 }), async (drawn, sizes, changes) => {
      const sources = sourcesOf(drawn)
      const expected = expectedOf(sources, { status: 'open' }, NOW)
      if (!isAnswerable(sources, expected)) return
      const todo = [...changes]
      const changed = new Set<string>()
      const between = (page: number): void => {
        const next = todo.shift()
        if (next === undefined) return
        sources[next.source % sources.length]!.change((items) => {
          if (next.add) items.push(fakeItem(`new-${page}`, next.at))
          else for (const { listingId } of items.splice(next.victim, 1)) changed.add(listingId)
        })
      }
      const walked = await readByCursor(sources, sizes, { between }).catch(() => null)
      // Without a listing no answer may be empty while an upstream is away.
      if (walked === null) return
      const isOld = ({ listingId }: Item) => !changed.has(listingId) && !listingId.startsWith('new')
      t.deepEqual(
        walked.filter(isOld).map((item) => textOf('', item)),
        expected.filter(({ item }) => isOld(item)).map(({ item }) => textOf('', item)),
      )
    }),
    RUNS,
  )
})

test('merge: by price and in facets the same copies decide, and what is unchecked comes last', (t) =>
  fc.assert(
    fc.asyncProperty(world, asked, SIZES, async (drawn, { query, ...rule }, sizes) => {
      const sources = sourcesOf(drawn)
      const expected = expectedOf(sources, rule, NOW)
      if (!isAnswerable(sources, expected, rule.status)) return
      const byPrice = { tokens: null, per: 'gpu' } as const
      const page = await gatewayOver(sources).page({ limit: 200, ...query }, { byPrice })
      const sorted = (items: readonly object[]) => items.map((item) => JSON.stringify(item)).sort()
      t.deepEqual(sorted(page.items.map(describe)), sorted(expected.map(describeExpected)))
      const isUnchecked = page.items.map(({ unchecked }) => unchecked.length > 0)
      t.deepEqual(isUnchecked, isUnchecked.toSorted())
      if ((query as { status: unknown }).status === 'open' && rule.matches === undefined) {
        const walked = await readByCursor(sources, sizes, { byPrice })
        t.deepEqual(
          walked.map((item) => textOf('', item)),
          page.items.map(({ item }) => textOf('', item)),
        )
      }
      const facets = await readFacets(
        settingsOver(sources),
        {
          query: { ...listingQuery(), ...query },
          request: { reader: SEES_ALL, signal: new AbortController().signal, budgetMs: 1000 },
        },
        { by: [REGISTRY_FACET], per: 'gpu' },
      )
      t.is(facets.total, expected.length)
      const counts = Object.fromEntries(
        facets.facets.registry!.values.map(({ value, count }) => [value, count]),
      )
      for (const { name } of sources)
        t.is(counts[name] ?? 0, expected.filter(({ registry }) => registry === name).length)
    }),
    RUNS,
  ))
