import test from 'ava'
import fc from 'fast-check'
import type { Source } from '../../src/domain/page.ts'
import { SourceError } from '../../src/domain/source-error.ts'
import { matchesAll } from '../../src/filter-spec/evaluate.ts'
import type { Filter } from '../../src/filter-spec/filter.ts'
import { parseCriteria } from '../../src/filter-spec/parameters.ts'
import { explained } from '../../src/gateway/explained.ts'
import { MEMORY_SCAN_LIMIT, withOtherFilters } from '../../src/gateway/with-other-filters.ts'
import { listingText } from '../helpers/fake-registry.ts'
import { filterOf } from '../helpers/specs.ts'
import { itemOf, listingQuery, pageOf } from './gateway-parts.ts'

const region = filterOf('region')
const zone = filterOf('zone')
const words = new Map<string, Filter>([region, zone].map((filter) => [filter.name, filter]))
const signal = new AbortController().signal

/** As an index answers: it knows `region` only, and nothing else can be asked. */
const indexed =
  (texts: readonly string[]): Source =>
  async ({ criteria, offset, limit }) => {
    if (criteria.some(({ filter }) => filter.name !== 'region')) throw new TypeError('not in the index')
    const matching = texts.filter((text) => matchesAll(criteria, JSON.parse(text)))
    return pageOf(matching.slice(offset, offset + limit), matching.length)
  }

const sourceOf = (texts: readonly string[]): Source =>
  withOtherFilters('local', [region])(explained(indexed(texts)))

const queryOf = (filters: readonly (readonly [string, string])[]) =>
  listingQuery({ filters, criteria: parseCriteria({ filters: words }, filters) })

const offer = fc.record(
  { region: fc.constantFrom('a', 'b', null), zone: fc.constantFrom('x', 'y', 7) },
  { requiredKeys: [] },
)

test('any query is answered as if every filter were in the index', async (t) => {
  const value = fc.constantFrom('', 'a', 'x', 'in:[b,y]', 'in:[]')
  await fc.assert(
    fc.asyncProperty(
      fc.array(offer, { maxLength: 30 }),
      fc.record({ region: value, zone: value, 'strict.zone': fc.constantFrom('true', 'false') }),
      fc.nat(5),
      fc.integer({ min: 1, max: 6 }),
      async (offers, asked, offset, limit) => {
        const texts = offers.map((offer_resource, n) => listingText({ listing_id: `${n}`, offer_resource }))
        const query = { ...queryOf(Object.entries(asked)), offset, limit }
        const matching = texts.filter((text) => matchesAll(query.criteria, JSON.parse(text)))
        const { items, total } = await sourceOf(texts)(query, signal)
        t.is(total, matching.length)
        t.deepEqual(items, matching.slice(offset, offset + limit).map(itemOf))
      },
    ),
  )
})

test('what is looked up meets every filter, too', async (t) => {
  const texts = ['x', 'y'].map((zone) => listingText({ listing_id: zone, offer_resource: { zone } }))
  const source = withOtherFilters('local', [region])(async (query, signal) => ({
    ...(await indexed(texts)(query, signal)),
    find: (listingId) => texts.map(itemOf).filter((item) => item.listingId === listingId),
  }))
  const { find } = await source(queryOf([['zone', 'x']]), signal)
  t.is(find?.('x', []).length, 1)
  t.is(find?.('y', []).length, 0)
})

test('a filter of another name on a path that is indexed needs no reading', async (t) => {
  const alias = { ...region, name: 'area' }
  const criteria = parseCriteria({ filters: new Map([['area', alias]]) }, [['area', 'a']])
  const spied: Source = async (query) => {
    t.deepEqual(query.criteria, criteria)
    t.is(query.limit, 50)
    return pageOf([])
  }
  await withOtherFilters('local', [region])(spied)(listingQuery({ criteria }), signal)
})

test('more listings than may be read are refused by the names of what is lacking', async (t) => {
  const large: Source = async () => ({ ...pageOf([]), total: MEMORY_SCAN_LIMIT + 1 })
  const source = withOtherFilters('local', [region])(large)
  const error = await t.throwsAsync(
    source(
      queryOf([
        ['region', 'a'],
        ['zone', 'x'],
      ]),
      signal,
    ),
    {
      instanceOf: SourceError,
    },
  )
  t.is(error?.reason, 'unsupported_filter')
  t.deepEqual(error?.filters, ['zone'])
})

test('memory explains what each filter keeps out, by value and for lack of one', async (t) => {
  const offers = [{ region: 'a', zone: 'x' }, { region: 'b', zone: 'x' }, { region: 'a' }, { zone: 'y' }, {}]
  const texts = offers.map((offer_resource, n) => listingText({ listing_id: `${n}`, offer_resource }))
  const explain = async (filters: [string, string][]) =>
    (await sourceOf(texts)({ ...queryOf(filters), explain: true }, signal)).explanation
  t.deepEqual(await explain([['region', 'a']]), { excluded: [{ filter: 'region', byValue: 1, missing: 2 }] })
  t.deepEqual(
    await explain([
      ['region', 'a'],
      ['strict.region', 'false'],
    ]),
    {
      excluded: [{ filter: 'region', byValue: 1, missing: 0 }],
    },
  )
  t.deepEqual(
    await explain([
      ['region', 'a'],
      ['zone', 'x'],
    ]),
    {
      excluded: [
        { filter: 'region', byValue: 1, missing: 2 },
        { filter: 'zone', byValue: 0, missing: 1 },
      ],
    },
  )
  t.deepEqual(await explain([]), { excluded: [] })
  t.is((await sourceOf(texts)(queryOf([['region', 'a']]), signal)).explanation, undefined)
})
