import test from 'ava'
import type { ListingRecord } from '../../../src/domain/listing.ts'
import { TURN_MS } from '../../../src/domain/turns.ts'
import { CopyIndex } from '../../../src/listing-index/copy-index.ts'
import { Projection } from '../../../src/registry/projection.ts'
import { FIXED_TIME, openMarket } from '../../helpers/market.ts'
import { NAME, OneSource } from '../../helpers/one-source.ts'
import { VOCABULARY } from '../../helpers/vocabulary.ts'
import { filterOn } from '../../unit/listing-index/model.ts'

const LISTINGS = 1000
const MOVER = 1
const OTHER = 2
const url = (name: string): string => `https://${name}.example/`

const recordOf = (n: number, more: Partial<ListingRecord> = {}): ListingRecord => ({
  listingId: `l"${n}`,
  publisherId: MOVER,
  status: 'open',
  createdAt: 1_700_000_000_000_000 + n,
  updatedAt: 1_700_000_000_000_000 + n,
  offerResource: '{"storefront_url":"https://decoy.example/"}',
  acceptedEscrows: '[]',
  demands: '[]',
  maxDurationSeconds: 'null',
  oracleAddress: 'null',
  settlementOptions: '[]',
  ...more,
})

/** A market of two publishers, every tenth listing the other's. */
function openProjection() {
  const index = new CopyIndex([filterOn('$.storefront_url')])
  const projection = new Projection(index, NAME, VOCABULARY)
  const listings = OneSource.of(projection)
  const move = (publisherId: number, name: string | null) => {
    const identity = { publisherId, scheme: 'eip191', identifier: `0x${publisherId}`, rotations: [] }
    const publisher = { ...identity, storefrontUrl: name && url(name), createdAt: 0, updatedAt: 0 }
    projection.apply({ kind: 'publisher', publisher })
  }
  move(MOVER, null)
  move(OTHER, 'other')
  for (let n = 0; n < LISTINGS; n++)
    projection.apply({ kind: 'listing', record: recordOf(n, n % 10 === 0 ? { publisherId: OTHER } : {}) })
  const rows = () =>
    listings
      .query({ status: null, criteria: [], limit: LISTINGS + 10 })
      .rows.map(({ bytes }) => JSON.parse(Buffer.from(bytes).toString()))
  const countOf = (name: string | null) =>
    rows().filter((row) => row.publisher_id === MOVER && row.storefront_url === (name && url(name))).length
  return { projection, listings, move, rows, countOf }
}

const turn = () => new Promise(setImmediate)

/** What the clock advances at each look. */
const COST_MS = 0.25

test.serial('storefront move: turns end by the clock however large rows are, and none is lost', async (t) => {
  const { now: realNow } = performance
  t.teardown(() => {
    performance.now = realNow
  })
  let time = 0
  performance.now = () => {
    time += COST_MS
    return time
  }
  const { projection, listings, move, rows, countOf } = openProjection()
  const idsNow = () => rows().map(({ listing_id }) => listing_id)
  const ids = idsNow()
  const movers = countOf(null)
  move(MOVER, 'new')
  let isDone = false
  const done = projection.storefrontUpdated(MOVER).then(() => {
    isDone = true
  })
  let moved = 0
  while (!isDone) {
    await turn()
    t.deepEqual(idsNow(), ids)
    const now = countOf('new')
    t.is(now + countOf(null), movers)
    t.true(now - moved <= TURN_MS / COST_MS + 1, `${now - moved} in one turn`)
    moved = now
  }
  await done
  t.is(moved, movers)
  t.is(rows().filter(({ storefront_url }) => storefront_url === url('other')).length, LISTINGS - movers)
  const filter = filterOn('$.storefront_url')
  const criteria = [{ filter, onMissing: 'fail', test: { op: 'in', values: new Set([url('new')]) } }] as const
  t.is(listings.matches({ status: null, criteria }).total, movers)
})

test('storefront move: successive moves and concurrent changes end with the latest URL', async (t) => {
  const { projection, move, rows } = openProjection()
  move(MOVER, 'first')
  await turn()
  move(MOVER, 'second')
  const second = projection.storefrontUpdated(MOVER)
  await turn()
  projection.apply({ kind: 'listing_removed', listingId: recordOf(1).listingId })
  for (const n of [2, 502, 998]) {
    projection.apply({ kind: 'listing_removed', listingId: recordOf(n).listingId })
    projection.apply({ kind: 'listing', record: recordOf(n, { publisherId: OTHER, createdAt: 2e15 + n }) })
  }
  projection.apply({ kind: 'listing', record: recordOf(3, { status: 'closed', demands: '[3]' }) })
  projection.apply({ kind: 'listing', record: recordOf(LISTINGS) })
  move(MOVER, 'third')
  await second
  await projection.storefrontUpdated(MOVER)
  const found = new Map(rows().map((row) => [row.listing_id, row]))
  t.is(found.size, LISTINGS)
  t.false(found.has(recordOf(1).listingId))
  t.like(found.get(recordOf(3).listingId), { status: 'closed', demands: [3] })
  for (const { publisher_id, storefront_url } of found.values())
    t.is(storefront_url, url(publisher_id === MOVER ? 'third' : 'other'))
  await t.notThrowsAsync(projection.storefrontUpdated(MOVER), 'no move is in progress')
})

test('storefront move: a publish is acknowledged when all rows show the new URL', async (t) => {
  const { publish, get } = await openMarket(t)
  const ids = Array.from({ length: 250 }, (_, n) => `l${n}`)
  await Promise.all(ids.map((listing_id) => publish({ listing_id })))
  t.is((await publish({ listing_id: 'l0', storefront_url: url('new') }, FIXED_TIME - 1)).status, 201)
  for (let offset = 0; offset < ids.length; offset += 200) {
    const { items } = (await get(`/listings?limit=200&offset=${offset}`)).json() as {
      items: { storefront_url: string }[]
    }
    t.true(items.every(({ storefront_url }) => storefront_url === url('new')))
  }
})
