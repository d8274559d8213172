import test from 'ava'
import fc from 'fast-check'
import type { ListingQuery } from '../../../src/domain/query.ts'
import { isAfter } from '../../../src/domain/source/position.ts'
import type { Item, Range } from '../../../src/domain/source/reading.ts'
import { matchesAll } from '../../../src/filter-spec/evaluate.ts'
import {
  type IndexedListings,
  IndexSource,
  MEMORY_SCAN_LIMIT,
} from '../../../src/listing-index/index-source.ts'
import { ListingIndex } from '../../../src/listing-index/listing-index.ts'
import { comparePlaces } from '../../../src/listing-index/segment.ts'
import { fakeItem } from '../../helpers/fake-source.ts'
import { byBasis } from '../../helpers/grouping.ts'
import { filterOf } from '../../helpers/specs.ts'
import { countTurns } from '../../helpers/turns.ts'
import { failureOf, filtered, listingQuery } from '../../helpers/upstream.ts'

const REGION = filterOf('region')
const ZONE = filterOf('zone')

const asking = (filters: readonly (readonly [string, string])[]) => filtered([REGION, ZONE], ...filters)

/** An index of `region` only: it cannot be asked for anything else. */
function indexOf(items: readonly Item[]): IndexedListings {
  return {
    page: ({ criteria }, { after, limit, offset }) => {
      if (criteria.some(({ filter }) => filter.path !== REGION.path)) throw new TypeError('not in the index')
      const matching = items.filter(({ bytes }) => matchesAll(criteria, JSON.parse(String(bytes))))
      const older = matching.filter((item) => after === null || comparePlaces(item, after) < 0)
      return { items: older.slice(offset, offset + limit), total: matching.length }
    },
    select: () => null,
    find: (_query, id) => items.filter(({ listingId }) => listingId === id),
  }
}

function read(items: readonly Item[], query: Partial<ListingQuery>, range: Partial<Range> = {}) {
  const source = new IndexSource('local', [REGION])
  const whole = { after: null, skip: 0, count: Number.POSITIVE_INFINITY }
  return source.read(indexOf(items), listingQuery(query), { ...whole, ...range })
}

const offer = fc.record(
  { region: fc.constantFrom('a', 'b', null), zone: fc.constantFrom('x', 'y', 7) },
  { requiredKeys: [] },
)

/** Newest first. */
function itemsOf(offers: readonly object[]): Item[] {
  return offers.map((offer, n) => fakeItem(`l${n}`, 1000 - n, { offer }))
}

test('index source: any range of any query is exact, with and without an index for its filters', async (t) => {
  const value = fc.constantFrom('', 'a', 'x', 'in:[b,y]', 'in:[]')
  const asked = fc.record({ region: value, zone: value, 'strict.zone': fc.constantFrom('true', 'false') })
  await fc.assert(
    fc.asyncProperty(
      fc.array(offer, { maxLength: 60, size: 'max' }),
      asked,
      fc.record({
        after: fc.option(fc.nat(60)),
        skip: fc.nat(80),
        count: fc.integer({ min: 1, max: 70 }),
      }),
      async (offers, filters, { after, ...range }) => {
        const items = itemsOf(offers)
        const query = asking(Object.entries(filters))
        const key = after === null ? null : { position: 1000 - after, listingId: `l${after}` }
        const matching = items.filter(({ bytes }) => matchesAll(query.criteria, JSON.parse(String(bytes))))
        const from = key === null ? range.skip : 0
        const behind = matching.filter((item) => isAfter(item, key)).slice(from)
        const { listings, hasMore, total } = await read(items, query, { ...range, after: key })
        t.deepEqual(listings, behind.slice(0, range.count))
        t.is(hasMore, behind.length > range.count)
        t.is(total, matching.length)
        for (const item of items) {
          const { listings } = await read(items, { ...query, listingId: item.listingId })
          t.deepEqual(listings, matching.includes(item) ? [item] : [])
        }
      },
    ),
  )
})

test('index source: a filter with another name on an indexed path needs no scan', async (t) => {
  const area = { ...REGION, name: 'area' }
  const items = itemsOf([{ region: 'a' }, { region: 'b' }])
  t.is((await read(items, filtered([area], ['area', 'a']))).total, 1)
})

test('index source: too many listings to scan are an error that names the filters', async (t) => {
  const items = itemsOf(Array.from({ length: MEMORY_SCAN_LIMIT + 1 }, () => ({})))
  const error = await failureOf(t, read(items, asking([['zone', 'x']])))
  t.deepEqual([error.reason, error.filters], ['unsupported_filter', ['zone']])
})

test.serial(
  'index source: what a filter without an index leaves is counted in turns of the event loop',
  async (t) => {
    const turn = countTurns(t)
    const turns = new Set<number>()
    const items = itemsOf(new Array(MEMORY_SCAN_LIMIT).fill({ zone: 'x', region: 'a' })).map((item) => ({
      ...item,
      get bytes() {
        turns.add(turn.now)
        return item.bytes
      },
    }))
    const query = listingQuery(asking([['zone', 'x']]))
    const selection = await new IndexSource('local', [REGION]).select(indexOf(items), query)
    t.is(selection.total, MEMORY_SCAN_LIMIT)
    turns.clear()
    const { values } = await selection.facets([REGION], byBasis('gpu'))
    t.is(values[0]?.get('a'), MEMORY_SCAN_LIMIT)
    t.true(turns.size > 1)
  },
)

const put = (index: ListingIndex, n: number, version: number, padding = 0): void =>
  index.put({
    listingId: `listing-${n}`,
    publisherId: 1,
    status: 'open',
    createdAt: n,
    bytes: textOf(n, version, padding),
  })

const textOf = (n: number, version: number, padding = 0): Buffer =>
  Buffer.from(JSON.stringify({ n, version, padding: 'x'.repeat(padding) }))

test('views: a view is unchanged after its listing is replaced or removed and its segment merged', (t) => {
  const index = new ListingIndex([], { tail: 8, segment: 64, step: 16 })
  for (let n = 0; n < 300; n++) put(index, n, 0)
  const views = Array.from({ length: 300 }, (_, n) => index.get(`listing-${n}`)!.bytes)
  for (let version = 1; version < 20; version++) {
    for (let n = 0; n < 300; n++) put(index, n, version)
  }
  for (let n = 0; n < 290; n++) index.remove(`listing-${n}`)
  for (let n = 400; n < 900; n++) put(index, n, 0)
  for (const [n, view] of views.entries()) t.deepEqual(Buffer.from(view), textOf(n, 0))
})

test('views: the caller may overwrite the bytes that it put', (t) => {
  const index = new ListingIndex([])
  const bytes = textOf(1, 1, 300_000)
  const before = bytes.toString()
  const small = textOf(2, 1)
  index.put({ listingId: 'large', publisherId: 1, status: 'open', createdAt: 1, bytes })
  index.put({ listingId: 'small', publisherId: 1, status: 'open', createdAt: 2, bytes: small })
  bytes.fill(0)
  small.fill(0)
  t.is(Buffer.from(index.get('large')!.bytes).toString(), before)
  t.deepEqual(Buffer.from(index.get('small')!.bytes), textOf(2, 1))
})
