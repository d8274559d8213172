import test from 'ava'
import fc from 'fast-check'
import type { Item } from '../../../src/domain/source/item.ts'
import type { ByPrice } from '../../../src/gateway/pages/price-groups.ts'
import { type FakeSource, fakeItem, fakeSource } from '../../helpers/fake-source.ts'
import {
  gatewayOver,
  idsOfPage,
  keyOf,
  metaOf,
  readByCursor,
  readByOffset,
  TOKENS,
} from '../../helpers/pages.ts'
import { runs } from '../../helpers/runs.ts'

type Rate = { chain: string; token: string; value: string; per: string }
type Offer = { id: number; at: number; publisher: string; gpus: number; rates: readonly Rate[] }

/** Few values, so that ties are common, across units of time and numbers of GPUs. */
const rate = fc.record({
  chain: fc.constantFrom('base', 'ethereum'),
  token: fc.constantFrom('0xa', '0xb', '0xc'),
  value: fc.constantFrom(
    '0',
    '1',
    '2',
    '24',
    '48',
    '115792089237316195423570985008687907853269984665640564039457',
    '-1',
    'x',
  ),
  per: fc.constantFrom('hour', 'day', 'request'),
})
const offerOf = (id: fc.Arbitrary<number>, publisher: fc.Arbitrary<string>): fc.Arbitrary<Offer> =>
  fc.record({
    id,
    publisher,
    at: fc.nat(5),
    gpus: fc.constantFrom(1, 2, 2, 8, 0),
    rates: fc.array(rate, { maxLength: 3 }),
  })
const PLAIN = offerOf(fc.nat(40), fc.constant('0xp'))
/** As a gateway may have them: several listings of one id. */
const SHARED_IDS = offerOf(fc.nat(4), fc.constantFrom('0xp', '0xq', '0xr'))

const itemOf = ({ id, at, publisher, gpus, rates }: Offer): Item =>
  fakeItem(`l${id}`, at, {
    publisher,
    storefrontUrl: `http://${publisher}.example/`,
    offer: { gpu_count: gpus },
    escrows: rates.map(({ chain, token, value, per }) => ({
      chain_name: chain,
      literal_fields: { token },
      rates: [{ field: 'amount', value, per }],
    })),
  })

type World = readonly { offers: readonly Offer[]; priority: number }[]

const worldOf = (offer: fc.Arbitrary<Offer>): fc.Arbitrary<World> =>
  fc.array(
    fc.record({
      offers: fc.uniqueArray(offer, { maxLength: 30, selector: ({ id, publisher }) => `${id} ${publisher}` }),
      priority: fc.nat(2),
    }),
    { minLength: 1, maxLength: 4 },
  )

const sourcesOf = (world: World): FakeSource[] =>
  world.map(({ offers, ...options }, n) =>
    fakeSource(`s${n}`, offers.map(itemOf), { ...options, isGateway: true }),
  )

const BY = fc.record({
  tokens: fc.constantFrom(null, TOKENS.named('USDC'), TOKENS.named('WETH')),
  per: fc.constantFrom('gpu' as const, 'offer' as const),
})
const SIZES = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 6 })
const RUNS = { numRuns: runs(150), includeErrorInReport: true }

for (const [what, offer] of [
  ['each id is one listing', PLAIN],
  ['publishers share ids', SHARED_IDS],
] as const)
  test(`by price, ${what}: a page is what a plain sort of everything gives, and pages and a stream are that page`, (t) =>
    fc.assert(
      fc.asyncProperty(worldOf(offer), BY, SIZES, async (world, byPrice, sizes) => {
        const expected = sortedByPrice(world, byPrice)
        const page = await gatewayOver(sourcesOf(world)).page({ limit: 200 }, { byPrice })
        t.deepEqual(
          page.items.map(({ item }) => keyOf(item)),
          expected,
        )
        t.deepEqual([page.total, page.nextCursor], [expected.length, undefined])
        const walked = await readByCursor(() => sourcesOf(world), sizes, { byPrice })
        t.deepEqual(walked.map(keyOf), expected)
        t.deepEqual((await readByOffset(sourcesOf(world), sizes, { byPrice })).map(keyOf), expected)
        const lines = await gatewayOver(sourcesOf(world)).lines({ byPrice })
        const streamed = lines.slice(0, -1) as { listing_id: string; _meta: { publisher: string } }[]
        t.deepEqual(
          streamed.map(({ listing_id, _meta }) => `${listing_id} ${_meta.publisher}`),
          expected,
        )
      }),
      RUNS,
    ))

test('by price: changes between pages by cursor lose and repeat no listing that stays as it is', (t) => {
  const change = fc.record({
    source: fc.nat(),
    victim: fc.nat(30),
    offer: offerOf(fc.nat(60), fc.constant('0xp')),
    add: fc.boolean(),
  })
  return fc.assert(
    fc.asyncProperty(
      worldOf(PLAIN),
      BY,
      SIZES,
      fc.array(change, { maxLength: 12 }),
      async (world, byPrice, sizes, changes) => {
        const sources = sourcesOf(world)
        const stays = new Set(sources.flatMap(({ items }) => items.map(keyOf)))
        const todo = [...changes]
        const between = (): void => {
          const next = todo.shift()
          if (next === undefined) return
          sources[next.source % sources.length]!.change((items) => {
            const item = itemOf(next.offer)
            const n = items.findIndex(({ listingId }) => listingId === item.listingId)
            if (next.add) items.splice(n === -1 ? items.length : n, n === -1 ? 0 : 1, item)
            const gone = next.add ? [item] : items.splice(next.victim, 1)
            for (const one of gone) stays.delete(keyOf(one))
          })
        }
        const walked = await readByCursor(sources, sizes, { byPrice, between })
        const kept = walked.map(keyOf).filter((key) => stays.has(key))
        t.deepEqual([...new Set(kept)].sort(), [...stays].sort())
        t.is(new Set(kept).size, kept.length)
      },
    ),
    RUNS,
  )
})

test('by price: a stream shows no listing twice whose price rises meanwhile', async (t) => {
  const items = Array.from({ length: 500 }, (_, id) => itemOf(offerAt(id, String(100 + id))))
  const source = fakeSource('changes', items)
  const byPrice = { tokens: null, per: 'gpu' } as const
  let lines = 0
  const rise = (): void => {
    if (++lines === 1) source.change((items) => items.splice(0, 1, itemOf(offerAt(0, '9999'))))
  }
  const streamed = await gatewayOver([source]).lines({ byPrice }, rise)
  const ids = streamed.slice(0, -1).map(({ listing_id }) => listing_id)
  t.is(new Set(ids).size, 500)
  t.is(ids.length, 500)
})

test('by price: very many hidden copies are passed', async (t) => {
  const cheap = Array.from({ length: 12_000 }, (_, id) => itemOf(offerAt(id, '1')))
  const dear = Array.from({ length: 12_000 }, (_, id) => itemOf(offerAt(id, '2')))
  const better = fakeSource('better', dear, { priority: 1 })
  const worse = fakeSource('worse', cheap, { priority: 2 })
  const byPrice = { tokens: null, per: 'gpu' } as const
  const first = await gatewayOver([better, worse]).page({ limit: 2 }, { byPrice })
  t.deepEqual(idsOfPage(first), ['l0', 'l1'])
  t.deepEqual([first.total, metaOf(first.items[0])?.registry], [12_000, 'better'])
  const next = await gatewayOver([better, worse]).page({ limit: 2 }, { byPrice, cursor: first.nextCursor! })
  t.deepEqual(idsOfPage(next), ['l10', 'l100'])
})

test('by price: hostile names of tokens neither fill a cursor nor take all groups', async (t) => {
  const offers = Array.from({ length: 100 }, (_, id) => ({
    ...offerAt(id, '1'),
    rates: [{ chain: 'c'.repeat(128), token: `${id}`.padEnd(128, '"'), value: '1', per: 'p'.repeat(32) }],
  }))
  const sources = sourcesOf([{ offers: [...offers, offerAt(200, '1'), offerAt(201, '2')], priority: 1 }])
  const byPrice = { tokens: null, per: 'gpu' } as const
  const page = await gatewayOver(sources).page({ limit: 5 }, { byPrice })
  t.deepEqual(
    page.items.slice(0, 2).map(({ item }) => item.listingId),
    ['l200', 'l201'],
  )
  t.true((page.nextCursor ?? '').length < 8192)
  t.is((await readByCursor(sources, [7], { byPrice })).length, 102)
})

const offerAt = (id: number, value: string): Offer => ({
  id,
  at: 1,
  publisher: '0xp',
  gpus: 1,
  rates: [{ chain: 'base', token: '0xa', value, per: 'hour' }],
})

/** As a gateway has it. */
const rowOf = ({ id, publisher }: Offer): string => `l${id}\n${publisher}`

type Fraction = { over: bigint; under: bigint }

/** By the definition, over the best copy of each listing. */
function sortedByPrice(world: World, { tokens, per }: ByPrice): string[] {
  const ranked = world
    .map(({ offers, priority }, n) => ({ offers, priority, n }))
    .sort((a, b) => a.priority - b.priority || a.n - b.n)
    .map(({ offers }) => offers.toSorted((a, b) => b.at - a.at || (a.id < b.id ? -1 : 1)))
  const labelOf = ({ chain, token, per: unit }: Rate, gpus: number): string | null => {
    const name = `${unit === 'day' ? 'hour' : unit}${per === 'gpu' && gpus === 0 ? '\noffer' : ''}`
    if (tokens === null) return `${chain}\n${token}\n${name}`
    return tokens.some((one) => one.chain === chain && one.address === token) ? name : null
  }
  const isPrice = ({ value }: Rate): boolean => /^\d+$/.test(value)
  const offers = new Map<string, number>()
  const sellers = new Map<string, Set<string>>()
  const shown = new Map<string, Offer>()
  for (const source of ranked)
    for (const offer of source) {
      const { rates, publisher } = offer
      const key = `l${offer.id} ${publisher}`
      if (shown.has(key)) continue
      shown.set(key, offer)
      const bases = rates
        .filter(isPrice)
        .map((one) => JSON.stringify([one.chain, one.token, labelOf(one, offer.gpus), offer.gpus > 0]))
      for (const basis of new Set(bases)) {
        const label = JSON.parse(basis)[2] as string | null
        if (label === null) continue
        offers.set(label, (offers.get(label) ?? 0) + 1)
        sellers.set(label, (sellers.get(label) ?? new Set()).add(`${basis} ${publisher}`))
      }
    }
  const labels = [...offers.keys()].sort(
    (a, b) =>
      Number(b === 'hour') - Number(a === 'hour') ||
      sellers.get(b)!.size - sellers.get(a)!.size ||
      offers.get(b)! - offers.get(a)! ||
      (a < b ? -1 : 1),
  )
  const placeOf = ({ rates, gpus }: Offer): { group: number; price: Fraction } => {
    const prices = rates.filter(isPrice).flatMap((one) => {
      const label = labelOf(one, gpus)
      if (label === null) return []
      const under = BigInt(one.per === 'day' ? 24 : 1) * BigInt(per === 'gpu' ? gpus || 1 : 1)
      return [{ group: labels.indexOf(label), price: { over: BigInt(one.value), under } }]
    })
    prices.sort((a, b) => a.group - b.group || compareFractions(a.price, b.price))
    return prices[0] ?? { group: labels.length, price: { over: 0n, under: 1n } }
  }
  const placed = [...shown].map(([key, offer]) => ({ key, offer, place: placeOf(offer) }))
  placed.sort(
    (a, b) =>
      a.place.group - b.place.group ||
      compareFractions(a.place.price, b.place.price) ||
      b.offer.at - a.offer.at ||
      (rowOf(a.offer) < rowOf(b.offer) ? -1 : 1),
  )
  return placed.map(({ key }) => key)
}

function compareFractions(a: Fraction, b: Fraction): number {
  const difference = a.over * b.under - b.over * a.under
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}
