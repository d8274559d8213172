import test, { type ExecutionContext } from 'ava'
import fc from 'fast-check'
import type { ListingQuery } from '../../../src/domain/query.ts'
import type { PricePosition } from '../../../src/domain/source/position.ts'
import type { Item } from '../../../src/domain/source/reading.ts'
import type { Matches, PriceOrder } from '../../../src/domain/source/selection.ts'
import { SourceError } from '../../../src/domain/source/source-error.ts'
import { IndexSource } from '../../../src/listing-index/index-source.ts'
import { type IndexEntry, type IndexRow, ListingIndex } from '../../../src/listing-index/listing-index.ts'
import type { Place } from '../../../src/listing-index/segment.ts'
import { byBasis } from '../../helpers/grouping.ts'
import { runs } from '../../helpers/runs.ts'
import { apply, conditions, FILTERS, filterOn, Model, operations } from './model.ts'
import {
  facetsOf,
  inOrder,
  isBelow,
  keysOf,
  pricedText,
  priceLimit,
  priceOrder,
  readableFacets,
} from './price-model.ts'

/** Small segments, so that a short test seals and merges many of them. */
const SMALL = { tail: 5, segment: 32, step: 16 }

const SOURCE = new IndexSource('local', FILTERS)

const toItem = ({ bytes, listingId, createdAt, publisherId }: IndexRow): Item => ({
  bytes,
  listingId,
  createdAt,
  position: createdAt,
  storefrontUrl: null,
  publisher: `0x${publisherId}`,
})

/** All that match; publishers are not looked at. */
function select(index: ListingIndex, query: ListingQuery): Promise<Matches & { total: number }> {
  const listings = {
    page: ({ status, criteria, priceLimit }: ListingQuery, page: { after: Place | null; limit: number }) => {
      const { rows, total } = index.query({ status, publisherId: null, criteria, priceLimit, ...page })
      return { items: rows.map(toItem), total }
    },
    select: ({ status, criteria, priceLimit }: ListingQuery) => ({
      matches: index.matches({ status, publisherId: null, criteria, priceLimit }),
      itemOf: toItem,
      publisherOf: (id: number) => ({ publisher: `0x${id}`, storefrontUrl: null }),
    }),
    find: ({ status }: ListingQuery, listingId: string) => {
      const row = index.get(listingId)
      return row === undefined || (status !== null && row.status !== status) ? [] : [toItem(row)]
    },
  }
  return SOURCE.select(listings, query)
}

/** Pages of `count` from the first to the last. */
function walk(selection: Matches, order: PriceOrder, count: number): PricePosition[] {
  const places: PricePosition[] = []
  for (;;) {
    const page = [...selection.byPrice(order, places.at(-1) ?? null).take(count)]
    places.push(...page.map(({ place }) => place))
    if (page.length < count) return places
  }
}

function agree(t: ExecutionContext, selection: Matches & { total: number }, expected: readonly IndexEntry[]) {
  return async ({ order, count }: { order: PriceOrder; count: number }): Promise<void> => {
    const places = inOrder(expected, order)
    t.deepEqual(walk(selection, order, count), places)
    t.deepEqual(
      Array.from(selection.items(), ({ listingId }) => listingId).sort(),
      expected.map(({ listingId }) => listingId).sort(),
    )
    const fields = [FILTERS[0]!, FILTERS[2]!, FILTERS[4]!]
    const facets = await selection.facets(fields, byBasis(order.per))
    t.deepEqual(readableFacets(facets), facetsOf(expected, fields, order.per))
    const sellers = new Set(expected.map(({ publisherId }) => `0x${publisherId}`))
    t.deepEqual([...selection.sellers()].sort(), [...sellers].sort())
    const offers = expected.flatMap(({ publisherId, ...entry }) =>
      Array.from(keysOf({ publisherId, ...entry }, 'offer').keys(), (basis) => ({ basis, publisherId })),
    )
    const counted = Array.from(
      Map.groupBy(offers, ({ basis }) => basis),
      ([basis, all]) =>
        [basis, { offers: all.length, publishers: new Set(all.map((one) => one.publisherId)).size }] as const,
    )
    t.deepEqual(Object.fromEntries(selection.offers(null)), Object.fromEntries(counted))
  }
}

const priced = fc
  .tuple(operations(200), fc.array(pricedText, { minLength: 40, maxLength: 40 }))
  .map(([steps, texts]) =>
    steps.map((step, n) =>
      step.kind === 'remove'
        ? step
        : { ...step, entry: { ...step.entry, bytes: Buffer.from(texts[n % texts.length]!) } },
    ),
  )

const asked = fc.record({
  where: conditions,
  limit: fc.option(priceLimit),
  order: priceOrder,
  count: fc.integer({ min: 1, max: 60 }),
})

test('prices: values of a path without an index are not counted', async (t) => {
  const zone = filterOn('$.zone')
  const index = new ListingIndex(FILTERS)
  const bytes = Buffer.from('{"a":"x","zone":"z"}')
  index.put({ listingId: 'l', publisherId: 1, status: 'open', createdAt: 1, bytes })
  const query = { status: 'open', publisher: null, criteria: [], filters: [] } as const
  const selection = await select(index, query)
  const error = await t.throwsAsync(selection.facets([zone, FILTERS[0]!], byBasis('gpu')), {
    instanceOf: SourceError,
  })
  t.is(error?.reason, 'unsupported_filter')
  t.deepEqual(error?.filters, [zone.name])
})

test('prices: a field with very many values is not counted at once', async (t) => {
  const list = FILTERS[4]!
  const index = new ListingIndex(FILTERS)
  const listing = (n: number): IndexEntry => {
    const values = Array.from({ length: 2000 }, (_, m) => n * 2000 + m)
    const bytes = Buffer.from(JSON.stringify({ a: 'x', list: values }))
    return { listingId: `l${n}`, publisherId: 1, status: 'open', createdAt: n, bytes }
  }
  for (const _step of index.load(Array.from({ length: 60 }, (_, n) => listing(n))));
  const selection = await select(index, { status: 'open', publisher: null, criteria: [], filters: [] })
  const error = await t.throwsAsync(selection.facets([list], byBasis('gpu')), { instanceOf: SourceError })
  t.deepEqual([error?.reason, error?.filters], ['unsupported_filter', [list.name]])
  t.is((await selection.facets([FILTERS[0]!], byBasis('gpu'))).values[0]?.get('x'), 60)
})

test('prices: of a boolean, a value and its words are counted once, and 1 in words is another value', async (t) => {
  const list = { ...FILTERS[4]!, value_type: 'boolean' as const }
  const index = new ListingIndex(FILTERS)
  const bytes = Buffer.from('{"list":[true,"true",1,"1",false,"0"]}')
  index.put({ listingId: 'l', publisherId: 1, status: 'open', createdAt: 1, bytes })
  const selection = await select(index, { status: 'open', publisher: null, criteria: [], filters: [] })
  const { values } = await selection.facets([list], byBasis('gpu'))
  t.deepEqual(Object.fromEntries(values[0]!), { true: 1, 1: 1, false: 1, 0: 1 })
})

test('prices: rows with very many names of tokens displace no other token', async (t) => {
  const index = new ListingIndex(FILTERS)
  const names = (n: number): string[] => Array.from({ length: 32 }, (_, m) => `0x${n}-${m}`)
  const hostile = Array.from({ length: 300 }, (_, n) => accepting(n + 1, names(n)))
  const honest = [0, 301].map((n) => accepting(n, ['0xa']))
  for (const _step of index.load([...honest, ...hostile]));
  const tokens = [{ chain: 'base', address: '0xa', symbol: 'A', decimals: 0 }]
  const priceLimit = { tokens, per: 'gpu', max: Number.POSITIVE_INFINITY } as const
  const query = { status: 'open', publisher: null, criteria: [], filters: [] } as const
  t.is((await select(index, { ...query, priceLimit })).total, 2)
  const order: PriceOrder = { groups: [['base\n0xa\nhour']], per: 'gpu' }
  const [first] = (await select(index, query)).byPrice(order, null)
  t.is(first?.item.listingId, 'l301')
  const { offers } = await select(index, query)
  t.deepEqual([...offers(tokens)], [['base\n0xa\nhour', { offers: 2, publishers: 1 }]])
  t.is(offers(null).size, 1024)
  const { prices } = await (await select(index, query)).facets([], byBasis('gpu'))
  t.is(prices.get('base\n0xa\nhour')?.offers, 2)
})

test('prices: columns of very many prices are built in steps', (t) => {
  const index = new ListingIndex([])
  const tokens = Array.from({ length: 32 }, (_, m) => `0x${m}`)
  const entries = Array.from({ length: 2000 }, (_, n) => accepting(n, tokens))
  t.true(Array.from(index.load(entries)).length > 20)
})

test('prices: different prices are counted in steps, which questions asked at once share', (t) => {
  const entries = Array.from({ length: 20_000 }, (_, n) => accepting(n, ['0xa'], String(7919 * n)))
  const question = (index: ListingIndex) =>
    index.matches({ status: 'open', publisherId: null, criteria: [] }).facets([], byBasis('gpu'))
  const loaded = () => {
    const index = new ListingIndex([])
    for (const _step of index.load(entries));
    return index
  }
  const alone = Array.from(question(loaded())).length
  t.true(alone > 10)
  const index = loaded()
  const questions = Array.from({ length: 4 }, () => question(index))
  let steps = 0
  while (questions.filter((one) => one.next().done !== true).length > 0) steps++
  t.true(steps < alone / 2)
})

/** A listing with a price in each of these tokens. */
function accepting(n: number, tokens: readonly string[], value = '5'): IndexEntry {
  const escrows = tokens.map((token) => ({
    chain_name: 'base',
    literal_fields: { token },
    rates: [{ value, per: 'hour' }],
  }))
  const bytes = Buffer.from(JSON.stringify({ offer_resource: { gpu_count: 1 }, accepted_escrows: escrows }))
  return { listingId: `l${n}`, publisherId: 1, status: 'open', createdAt: n, bytes }
}

test('prices: an index orders and counts as a plain evaluation does, after any changes', async (t) => {
  await fc.assert(
    fc.asyncProperty(priced, fc.array(asked, { minLength: 4, maxLength: 4 }), async (steps, questions) => {
      const index = new ListingIndex(FILTERS, SMALL)
      const model = new Model()
      for (const [n, step] of steps.entries()) {
        apply(step, index)
        apply(step, model)
        if (n % 60 !== 59 && n !== steps.length - 1) continue
        for (const { where, limit, ...question } of questions) {
          const { status, criteria } = where
          const query: ListingQuery = { status, publisher: null, criteria, filters: [] }
          const priceLimit = limit ?? undefined
          const selection = await select(index, { ...query, priceLimit })
          const expected = model
            .matches({ status, publisherId: null, criteria })
            .filter((entry) => priceLimit === undefined || isBelow(entry, priceLimit))
          t.is(selection.total, expected.length)
          await agree(t, selection, expected)(question)
        }
      }
    }),
    { numRuns: runs(40) },
  )
})
