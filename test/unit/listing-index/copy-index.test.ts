import test, { type ExecutionContext } from 'ava'
import fc from 'fast-check'
import type { PriceOrder } from '../../../src/domain/price/price-order.ts'
import type { PriceLimit } from '../../../src/domain/query.ts'
import { SourceError } from '../../../src/domain/source/source-error.ts'
import { matchesAll } from '../../../src/filter-spec/evaluate.ts'
import type { Criterion, Filter } from '../../../src/filter-spec/filter.ts'
import type { Row } from '../../../src/listing-index/copy.ts'
import { CopyIndex } from '../../../src/listing-index/copy-index.ts'
import type { PriceAfter } from '../../../src/listing-index/price-walk.ts'
import { SegmentBuilder } from '../../../src/listing-index/segment-builder.ts'
import { SourceSet } from '../../../src/listing-index/source-set.ts'
import { byBasis } from '../../helpers/grouping.ts'
import { runs } from '../../helpers/runs.ts'
import { run } from '../../helpers/steps.ts'
import {
  decideAll,
  documentOf,
  inOrder,
  type ModelCopy,
  move,
  type Question,
  question,
  SOURCES,
  sizes,
  World,
} from './copies.ts'
import { criterion, FILTERS, filterOn } from './model.ts'
import {
  countsOf,
  facetsOf,
  inOrder as inPriceOrder,
  isBelow,
  keysOf,
  priceLimit,
  priceOrder,
  readableFacets,
} from './price-model.ts'

const SMALL = { tail: 3, segment: 16, step: 8 }

type Asked = { asked: Question; order: PriceOrder; limit: PriceLimit | undefined; count: number }

const asked: fc.Arbitrary<Asked> = fc.record({
  asked: question,
  order: priceOrder,
  limit: fc.option(priceLimit, { nil: undefined }),
  count: fc.integer({ min: 1, max: 5 }),
})

test('copies: matches, prices, facets and sellers over several sources are those of a list of what is shown', (t) => {
  const moves = fc.array(move, { minLength: 20, maxLength: 60 })
  fc.assert(
    fc.property(moves, fc.array(asked, { minLength: 3, maxLength: 3 }), sizes, (steps, all, size) => {
      const world = new World(size)
      for (const [n, step] of steps.entries()) {
        world.make(step)
        if (n % 10 !== 9 && n !== steps.length - 1) continue
        for (const one of all) compare(t, world, one)
        compareSizes(t, world)
      }
    }),
    { numRuns: runs(300) },
  )
})

function compare(t: ExecutionContext, world: World, { asked, order, limit, count }: Asked): void {
  const { criteria, status } = asked
  const decisions = decideAll(world, asked)
  const shown = decisions.flatMap(({ isShown, decider }) => (isShown ? [decider] : []))
  const expected = inOrder(
    shown.filter(
      (copy) =>
        matchesAll(criteria, documentOf(copy)) && (limit === undefined || isBelow(entryOf(copy), limit)),
    ),
  )
  const entries = expected.map(entryOf)
  const scope = world.scope(asked)
  const matches = run(world.index.match(scope, { status, criteria, priceLimit: limit }))
  t.is(matches.total, expected.length)
  t.deepEqual(walk(world, matches, order, count), inPriceOrder(entries, order))
  const fields = [FILTERS[0]!, FILTERS[2]!, FILTERS[4]!]
  const facets = run(matches.facets(fields, byBasis(order.per)))
  t.deepEqual(readableFacets(facets), facetsOf(entries, fields, order.per))
  const persons = new Set(expected.flatMap(({ address, storefrontUrl }) => address ?? storefrontUrl ?? []))
  const found = [...matches.sellers()].filter((person) => !person.startsWith('-'))
  t.deepEqual(found.map((person) => person.replace(/^at /, '')).sort(), [...persons].sort())
  const bases = expected.flatMap((copy) => [...keysOf(entryOf(copy), 'offer').keys()])
  const offers = Array.from(matches.offers(null), ([basis, counted]) => [basis, counted.offers])
  t.deepEqual(Object.fromEntries(offers), countsOf(bases))
  for (const address of ['0xa', '0xb']) {
    const known = decideAll(world, { ...asked, status: null })
      .filter(({ isShown }) => isShown)
      .flatMap(({ decider, otherCopies }) => [decider, ...otherCopies])
      .filter((copy) => copy.address === address)
    const sources = [...world.index.sellersOf(address, scope).keys()]
    if (asked.status === 'open')
      t.deepEqual(
        sources.map((source) => world.index.about(source).name).sort(),
        [...new Set(known.map(({ source }) => source))].sort(),
      )
  }
}

/** Pages of `count` by price, from the first to the last. */
function walk(world: World, matches: ReturnType<typeof matchesOf>, order: PriceOrder, count: number) {
  const places: PriceAfter[] = []
  for (;;) {
    const page = [...matches.copiesByPrice(order, places.at(-1) ?? null).take(count)]
    for (const { copy, group, price } of page) {
      const { position, key } = copy
      places.push({ group, price, position, key, source: world.index.about(copy.source).name })
    }
    if (page.length < count) return places.map(({ source: _, ...place }) => place)
  }
}
const matchesOf = (index: CopyIndex, scope: Parameters<CopyIndex['match']>[0]) =>
  run(index.match(scope, { status: 'open', criteria: [] }))

function compareSizes(t: ExecutionContext, world: World): void {
  const { index, numbers, copies } = world
  for (const name of SOURCES) {
    const source = numbers.get(name)!
    const ofSource = copies.filter((copy) => copy.source === name)
    t.is(index.about(source).rows, ofSource.length)
    t.is(
      index.about(source).bytes,
      ofSource.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0),
    )
    const oldest = Array.from(index.walk(source, 'oldest'), ({ key }) => key)
    t.deepEqual(
      oldest,
      inOrder(ofSource)
        .reverse()
        .map(({ key }) => key),
    )
  }
}

const entryOf = ({ key, position, status, text }: ModelCopy): Row => {
  return { key, position, seller: 0, status, bytes: Buffer.from(text) }
}
const rowOf = (n: number, text = '{}'): Row => {
  return { key: `l${n}`, seller: 1, status: 'open', position: n, bytes: Buffer.from(text) }
}

test('copies: a filter whose columns are still to be built reads documents, and gives the same', (t) => {
  fc.assert(
    fc.property(
      fc.array(move, { minLength: 30, maxLength: 60 }),
      question,
      criterion,
      sizes,
      (steps, asked, more, size) => {
        const world = new World(size, FILTERS.slice(0, 2))
        for (const step of steps.slice(0, 20)) world.make(step)
        const criteria = [...asked.criteria, more]
        const compareTotal = () => {
          const expected = decideAll(world, asked).filter(
            ({ isShown, decider }) => isShown && matchesAll(criteria, documentOf(decider)),
          )
          const { status } = asked
          t.is(run(world.index.match(world.scope(asked), { status, criteria })).total, expected.length)
        }
        compareTotal()
        const replan = world.index.replan(FILTERS)
        for (const step of steps.slice(20)) {
          world.make(step)
          replan.next()
          compareTotal()
        }
        run(replan)
        compareTotal()
        const facets = run(world.index.match(world.scope(asked), { status: asked.status, criteria }))
        t.notThrows(() => run(facets.facets(FILTERS, byBasis('gpu'))))
        t.is(world.index.selfCheck(world.ranking, 20), 0)
      },
    ),
    { numRuns: runs(200) },
  )
})

test('copies: a filter that would read very many documents is refused by name until its columns are built', (t) => {
  const { index, source, scope } = indexOf([])
  run(
    index.load(
      source,
      Array.from({ length: 10_001 }, (_, n) => rowOf(n, '{"late":1}')),
    ),
  )
  const late = filterOn('$.late')
  const asked = { status: 'open', criteria: [isOne(late)] } as const
  const error = t.throws(() => run(index.match(scope, asked)), { instanceOf: SourceError })
  t.deepEqual([error.reason, error.filters], ['unsupported_filter', ['$.late']])
  const fields = () =>
    run(run(index.match(scope, { status: 'open', criteria: [] })).facets([late], byBasis('gpu')))
  t.throws(fields, { instanceOf: SourceError })
  run(index.replan([late]))
  t.is(run(index.match(scope, asked)).total, 10_001)
  t.deepEqual([...fields().values[0]!], [['1', 10_001]])
})

test('copies: a segment that was built elsewhere is found row by row while it is adopted', (t) => {
  const { index, source, scope } = indexOf(FILTERS)
  const plan = index.planOf(source)
  const builder = new SegmentBuilder(plan)
  for (let n = 0; n < 10_000; n++)
    builder.add({
      key: `l${n}`,
      position: n,
      seller: 1,
      status: 'open',
      bytes: Buffer.from('{}'),
    })
  const totals = []
  for (const _step of index.adopt(source, run(builder.finish()), plan))
    totals.push(run(index.match(scope, { status: 'open', criteria: [] })).total)
  t.deepEqual(totals, [4096, 8192])
  t.is(run(index.match(scope, { status: 'open', criteria: [] })).total, 10_000)
  t.is(index.get(source, 'l9999')?.position, 9999)
})

test('copies: the listings of a segment that was built elsewhere are not read again', (t) => {
  let reads = 0
  const valueIn = (_listing: unknown, field: string) => (field === 'f' ? ++reads : null)
  const derived = { kind: 'derived', field: 'f', version: 'v', source: '', valueIn } as const
  const { index, source } = indexOf([{ ...filterOn('$.f'), compiled: [derived] }])
  const plan = index.planOf(source)
  const builder = new SegmentBuilder(plan)
  for (let n = 0; n < 100; n++) builder.add(rowOf(n))
  run(index.adopt(source, run(builder.finish()), plan))
  for (let n = 100; n < 200; n++) index.put(source, rowOf(n))
  t.is(reads, 200)
})

test('copies: the version of some sources differs after each change of theirs, and after no other', (t) => {
  const index = new CopyIndex([], SMALL)
  const [one, other] = [index.addSource('one'), index.addSource('other')]
  const sources = new SourceSet([one])
  const seen = new Set<string>()
  const seller = index.sellers.numberOf({ publisher: null, storefrontUrl: 'https://a' }, 'one 1')
  const isNew = (change: () => void): boolean => {
    const { size } = seen.add(index.versionOf(sources))
    change()
    return seen.add(index.versionOf(sources)).size > size
  }
  t.true(isNew(() => index.put(one, { ...rowOf(1), seller })))
  t.true(isNew(() => index.learn(seller, { publisher: '0xa', storefrontUrl: 'https://a' })))
  t.false(isNew(() => index.learn(seller, { publisher: '0xa', storefrontUrl: 'https://a' })))
  t.false(isNew(() => index.put(other, rowOf(1))))
  t.true(isNew(() => index.remove(one, 'l1')))
  t.false(isNew(() => index.remove(one, 'l1')))
  t.true(isNew(() => run(index.removeSource(one))))
})

test('copies: of very many paths of one gateway, those beyond the first exist for no other gateway', (t) => {
  const { index, source, scope } = indexOf([])
  const origin = (n: number) => ({ registry: 'r', alsoIn: [], via: [`g${n}`], stale: false, differs: false })
  for (let n = 0; n < 100; n++) index.put(source, { ...rowOf(n), origin: origin(n) })
  const keys = (via: readonly string[]) =>
    run(index.match({ ...scope, via }, { status: 'open', criteria: [] }))
      .page({ limit: 100 })
      .map(({ key }) => key)
  t.is(keys([]).length, 100)
  t.false(keys(['g1']).includes('l1'))
  t.false(keys(['g99']).includes('l99'))
  t.true(keys(['g1']).includes('l2'))
  t.deepEqual(index.get(source, 'l99')?.origin?.via, ['g99'])
})

test('copies: bytes that are refused change nothing', (t) => {
  const { index, source, scope } = indexOf([])
  index.put(source, rowOf(1))
  const touched: unknown[] = []
  index.onTouched((ids) => touched.push(ids))
  t.throws(() => index.put(source, rowOf(1, '{')), { instanceOf: SyntaxError })
  t.deepEqual(touched, [])
  t.is(run(index.match(scope, { status: 'open', criteria: [] })).total, 1)
})

function indexOf(filters: readonly Filter[]) {
  const index = new CopyIndex(filters)
  const source = index.addSource('one')
  const ranking = run(index.rank({ names: ['one'], groupBy: 'listing' }))
  return { index, source, scope: { ranking, sources: new SourceSet([source]) } }
}

const isOne = (filter: Filter): Criterion => {
  return { filter, onMissing: 'fail', test: { op: 'in', values: new Set([1]) } }
}
