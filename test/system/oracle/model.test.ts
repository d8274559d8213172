import test from 'ava'
import type { Version } from './history.ts'
import { type Copy, type Counts, countsOf, listingsOf, pathsOf, type Question } from './model.ts'
import { INNER, OWN, type Plan, type Route } from './plan.ts'
import { ANY_LISTING } from './world.ts'

const OPEN: Question = { ...ANY_LISTING, status: 'open' }
const BY_PRICE: Question = { ...OPEN, isByPrice: true }
const CAP = 1000

/** Sources by priority, all held whole. */
function routes(...names: string[]): Route[] {
  return names.map((name, priority) => ({ name, priority, maxListings: null }))
}

type Stated = Partial<Pick<Version, 'status' | 'createdAt'>> & {
  seller?: string
  model?: string
  price?: number
}

/** A copy of a listing at a Registry. */
function copy(registry: string, listingId: string, stated: Stated = {}): Version {
  const { seller = 'seller', status = 'open', createdAt = 100, model = 'H100', price = 100 } = stated
  return {
    registry,
    key: `${seller} ${listingId}`,
    listingId,
    publisher: { address: seller, storefrontUrl: '' },
    createdAt,
    status,
    terms: { gpu_model: model, gpu_count: 2, model, region: 'eu', price },
    text: '',
    since: { at: 0, change: 0 },
    until: null,
  }
}

/** The copies on all ways. */
function copiesOf(
  versions: readonly Version[],
  question: Question,
  plan: Pick<Plan, 'outer' | 'inner'>,
): Copy[] {
  return pathsOf(plan, question).flatMap((path) =>
    versions.flatMap((version) => (version.registry === path.registry ? { path, version } : [])),
  )
}

/** `id registry` of the listings in their order. */
function shown(
  versions: readonly Version[],
  question = OPEN,
  plan = { outer: routes('good', 'bad'), inner: routes() },
) {
  return listingsOf(copiesOf(versions, question, plan), question, CAP).map(
    ({ listingId, copies }) => `${listingId} ${copies.map(({ path }) => path.shownAs).join(' ')}`,
  )
}

test('a listing is shown by its best copy, at the date of that copy', (t) => {
  const copies = [
    copy('good', '1'),
    copy('good', '2', { createdAt: 200 }),
    copy('bad', '1', { createdAt: 900 }),
  ]
  t.deepEqual(shown(copies), ['2 good', '1 good bad'])
})

test('a best copy that does not match hides those that would', (t) => {
  const copies = [copy('good', '1'), copy('bad', '1', { model: 'H200', price: 1 }), copy('bad', '2')]
  t.deepEqual(shown(copies, { ...OPEN, gpuModel: 'H200' }), [])
  t.deepEqual(shown(copies, { ...OPEN, priceMax: 1 }), [])
  t.deepEqual(shown(copies, { ...OPEN, gpuModel: 'H100' }), ['1 good bad', '2 bad'])
})

test('copies of another status do not compete, and only the own Registry lists closed ones', (t) => {
  const copies = [copy('good', '1', { status: 'closed' }), copy('bad', '1')]
  t.deepEqual(shown(copies), ['1 bad'])
  t.deepEqual(shown(copies, { ...OPEN, status: 'closed' }), [])
  t.deepEqual(shown(copies, { ...OPEN, status: null }), ['1 bad'])
})

test('a closed listing of the own Registry hides open copies, and is listed where its status is asked for', (t) => {
  const plan = { outer: routes(OWN, 'bad'), inner: routes() }
  const copies = [copy(OWN, '1', { status: 'closed' }), copy('bad', '1'), copy('bad', '2')]
  t.deepEqual(shown(copies, OPEN, plan), ['2 bad'])
  t.deepEqual(shown(copies, { ...OPEN, status: 'closed' }, plan), ['1 local'])
  t.deepEqual(shown(copies, { ...OPEN, status: null }, plan), ['1 local bad', '2 bad'])
})

test('sources that are not asked do not compete', (t) => {
  const copies = [copy('good', '1'), copy('bad', '1')]
  t.deepEqual(shown(copies, { ...OPEN, sources: ['bad'] }), ['1 bad'])
})

test('listings of one id by different sellers are all shown', (t) => {
  const copies = [copy('good', '1'), copy('bad', '1', { seller: 'thief' })]
  t.deepEqual(shown(copies), ['1 bad', '1 good'])
})

test('a gateway ranks what is behind it', (t) => {
  const plan = { outer: routes('good', INNER, 'bad'), inner: routes('b', 'a') }
  const copies = [copy('a', '1', { createdAt: 900 }), copy('b', '1'), copy('bad', '1'), copy('a', '2')]
  t.deepEqual(shown(copies, OPEN, plan), ['1 inner/b inner/a bad', '2 inner/a'])
  t.deepEqual(shown([...copies, copy('good', '1')], OPEN, plan)[0], '1 good inner/b inner/a bad')
})

test('dates of the future come last', (t) => {
  const copies = [
    copy('bad', '1', { createdAt: 9000 }),
    copy('good', '2', { createdAt: 5000 }),
    copy('good', '3', { createdAt: CAP }),
  ]
  t.deepEqual(shown(copies), ['3 good', '1 bad', '2 good'])
})

test('the order by price is that of the copies that are shown, newest first among equals', (t) => {
  const copies = [
    copy('good', '1', { price: 30 }),
    copy('bad', '1', { price: 1 }),
    copy('bad', '2', { price: 20, createdAt: 5 }),
    copy('good', '3', { price: 20 }),
  ]
  t.deepEqual(shown(copies, BY_PRICE), ['3 good', '2 bad', '1 good bad'])
})

test('counts are of the copies that are shown', (t) => {
  const copies = [
    copy('good', '1', { price: 30 }),
    copy('bad', '1', { price: 1, model: 'H200' }),
    copy('bad', '2', { price: 21 }),
  ]
  const held = copiesOf(copies, OPEN, { outer: routes('good', 'bad'), inner: [] })
  const expected: Counts = {
    total: 2,
    gpu_model: { H100: 2 },
    region: { eu: 2 },
    registry: { good: 1, bad: 1 },
    prices: { offers: 2, gpus: 4, least: '0.000011', median: '0.000011', most: '0.000015' },
  }
  t.deepEqual(countsOf(listingsOf(held, OPEN, CAP)), expected)
})
