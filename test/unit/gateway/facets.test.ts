import test from 'ava'
import fc from 'fast-check'
import { TokenTable } from '../../../src/domain/price/token.ts'
import { SEES_ALL } from '../../../src/domain/reader.ts'
import type { Item } from '../../../src/domain/source/item.ts'
import { EntrepotError } from '../../../src/errors.ts'
import {
  type FacetsQuery,
  type MergedFacets,
  REGISTRY_FACET,
  readFacets,
} from '../../../src/gateway/facets.ts'
import { type JsonValue, listAt, parseJson, textAt } from '../../../src/json/value.ts'
import { CopyIndex } from '../../../src/listing-index/copy-index.ts'
import type { PriceRangeJson } from '../../../src/wire/facets.ts'
import { type FakeSource, fakeItem, fakeSource } from '../../helpers/fake-source.ts'
import { gatewayOver, MODEL, settingsOver } from '../../helpers/pages.ts'
import { runs } from '../../helpers/runs.ts'
import { listingQuery } from '../../helpers/upstream.ts'
import { filterOn } from '../listing-index/model.ts'

const USDC = `0x${'a'.repeat(40)}`
const OTHER = `0x${'b'.repeat(40)}`
const TOKENS = new TokenTable(
  ['base', 'ethereum', 'sepolia'].map((chain) => ({
    chain,
    address: USDC,
    symbol: 'USDC',
    decimals: 6,
    testnet: chain === 'sepolia',
  })),
)

const TAGS = filterOn('$.tags[*]')

type Price = { chain?: string; token?: string; price?: number }
type Offer = { model?: string | null; gpus?: number; prices?: readonly Price[]; publisher?: string }

function offerItem(
  id: string,
  { model = 'H200', gpus = 1, prices = [{}], publisher = '0xa' }: Offer = {},
): Item {
  const bytes = Buffer.from(
    JSON.stringify({
      listing_id: id,
      offer_resource: { gpu_model: model, gpu_count: gpus },
      accepted_escrows: prices.map(({ chain = 'base', token = USDC, price = 1 }) => ({
        chain_name: chain,
        literal_fields: { token },
        rates: [{ field: 'amount', per: 'hour', value: String(price) }],
      })),
    }),
  )
  return fakeItem(id, 1, { bytes, publisher })
}

function facetsOver(sources: readonly FakeSource[], query: Partial<FacetsQuery> = {}): Promise<MergedFacets> {
  const settings = settingsOver(sources, { tokens: TOKENS, index: new CopyIndex([MODEL, TAGS]) })
  const asked = { ...listingQuery(), by: [MODEL, REGISTRY_FACET], per: 'gpu', ...query } as const
  return readFacets(settings, asked, { reader: SEES_ALL, signal: new AbortController().signal })
}

const offer = fc.record({
  id: fc.nat(12),
  model: fc.constantFrom('H100', 'H200', null),
  gpus: fc.constantFrom(1, 2, 8),
  prices: fc.array(
    fc.record({
      chain: fc.constantFrom('base', 'ethereum', 'sepolia'),
      token: fc.constantFrom(USDC, OTHER),
      price: fc.nat(5),
    }),
    { minLength: 1, maxLength: 4 },
  ),
  publisher: fc.constantFrom('0xa', '0xb'),
})
const source = fc.record({
  offers: fc.uniqueArray(offer, { maxLength: 20, selector: ({ id }) => id }),
  priority: fc.nat(2),
  isGateway: fc.boolean(),
})

test('facets: counts over several sources are those of the merged listings, each once', (t) =>
  fc.assert(
    fc.asyncProperty(fc.array(source, { minLength: 1, maxLength: 4 }), async (world) => {
      const sources = world.map(({ offers, ...options }, n) =>
        fakeSource(
          `s${n}`,
          offers.map(({ id, ...one }) => offerItem(`l${id}`, one)),
          options,
        ),
      )
      const { items } = await gatewayOver(sources).page({ limit: 200 })
      const listings = items.map(({ bytes, registry }) => ({
        listing: parseJson(Buffer.from(bytes).toString()),
        registry,
      }))
      const models = listings.map(({ listing }) => textAt(listing, 'offer_resource', 'gpu_model'))
      const found = await facetsOver(sources)
      t.is(found.total, items.length)
      t.true(found.complete)
      t.deepEqual(found.facets.gpu_model, {
        values: countsOf(models.filter((model) => model !== null)),
        other: 0,
        missing: models.filter((model) => model === null).length,
      })
      t.deepEqual(found.facets.registry?.values, countsOf(listings.map(({ registry }) => registry)))
      for (const range of found.prices) {
        const here = listings.flatMap(({ listing }) => {
          const gpus = Number(textAt(listing, 'offer_resource', 'gpu_count'))
          const prices = listAt(listing, 'accepted_escrows').flatMap((escrow) =>
            isIn(range, escrow) ? [Number(textAt(escrow, 'rates', 0, 'value')) / gpus] : [],
          )
          return prices.length === 0 ? [] : [{ gpus, price: Math.min(...prices) }]
        })
        const prices = here.map(({ price }) => price).sort((a, b) => a - b)
        const scale = range.decimals === undefined ? 1 : 1_000_000
        t.like(range, { offers: here.length, gpus: here.reduce((sum, { gpus }) => sum + gpus, 0) })
        t.deepEqual(
          [range.least, range.median, range.most].map(Number),
          [prices[0], prices[Math.ceil(prices.length / 2) - 1], prices.at(-1)].map(
            (price) => Math.ceil(price!) / scale,
          ),
        )
      }
      const groups = listings.flatMap(({ listing }) =>
        listAt(listing, 'accepted_escrows').map((escrow) =>
          found.prices.findIndex((range) => isIn(range, escrow)),
        ),
      )
      t.deepEqual([...new Set(groups)].sort(), [...found.prices.keys()].sort(), 'every price is in one group')
    }),
    { numRuns: runs(100), includeErrorInReport: true },
  ))

/** Whether the price of an escrow is one of these. */
function isIn({ symbol, testnet, chains, token }: PriceRangeJson, escrow: JsonValue): boolean {
  const [chain, address] = [textAt(escrow, 'chain_name'), textAt(escrow, 'literal_fields', 'token')]
  if (symbol === undefined) return chain === chains[0]?.chain && address === token
  return address === USDC && (chain === 'sepolia') === (testnet === true)
}

function countsOf(values: readonly string[]): { value: string; count: number }[] {
  return [...Map.groupBy(values, (value) => value)]
    .map(([value, { length }]) => ({ value, count: length }))
    .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
}

test('facets: a gateway counts under the names of its own sources', async (t) => {
  const origin = (registry: string) => ({ registry, alsoIn: [], stale: false, differs: false })
  const eu = fakeSource(
    'eu',
    ['a', 'b', 'c'].map((id, n) => ({ ...offerItem(id), origin: origin(n === 0 ? 'x' : 'y') })),
    { isGateway: true },
  )
  const { facets } = await facetsOver([
    eu,
    fakeSource('us', [offerItem('c'), offerItem('d')], { priority: 0 }),
  ])
  t.deepEqual(facets.registry?.values, [
    { value: 'us', count: 2 },
    { value: 'eu/x', count: 1 },
    { value: 'eu/y', count: 1 },
  ])
})

test('facets: a hundred values at most are named, and a long one never is', async (t) => {
  const items = Array.from({ length: 120 }, (_, n) =>
    offerItem(`l${n}`, { model: `M${String(n).padStart(3, '0')}` }),
  )
  const long = [offerItem('x', { model: 'x'.repeat(201) }), offerItem('y', { model: 'M119' })]
  const { facets } = await facetsOver([fakeSource('s', [...items, ...long])])
  const { values, other } = facets.gpu_model!
  t.is(values.length, 100)
  t.deepEqual(values.slice(0, 2), [
    { value: 'M119', count: 2 },
    { value: 'M000', count: 1 },
  ])
  t.is(other, 21)
})

test('facets: a field with very many values is refused by name', async (t) => {
  const tags = (n: number) => Array.from({ length: 2000 }, (_, m) => n * 2000 + m)
  const items = Array.from({ length: 60 }, (_, n) => {
    const bytes = Buffer.from(JSON.stringify({ listing_id: `l${n}`, tags: tags(n) }))
    return fakeItem(`l${n}`, 1, { bytes })
  })
  const error = await t.throwsAsync(facetsOver([fakeSource('s', items)], { by: [TAGS] }), {
    instanceOf: EntrepotError,
  })
  t.is(error?.status, 400)
  t.is(error?.message, 'by: $.tags[*] have more than 100000 values')
})
