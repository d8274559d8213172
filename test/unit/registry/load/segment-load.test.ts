import test from 'ava'
import type { ListingRecord } from '../../../../src/domain/listing.ts'
import { listingText } from '../../../../src/domain/listing-row.ts'
import { parseCriteria } from '../../../../src/filter-spec/parameters.ts'
import { CopyIndex } from '../../../../src/listing-index/copy-index.ts'
import type { CopyConditions } from '../../../../src/listing-index/match.ts'
import { SegmentLoad, type SegmentLoadOptions } from '../../../../src/registry/load/segment-load.ts'
import { Projection } from '../../../../src/registry/projection.ts'
import type { Row } from '../../../../src/store/rows.ts'
import { NAME, OneSource } from '../../../helpers/one-source.ts'
import { VOCABULARY } from '../../../helpers/vocabulary.ts'
import { filterOn } from '../../listing-index/model.ts'

const DERIVED = VOCABULARY.filters(new Map())
const FILTERS = [filterOn('$.offer_resource.n', 'range'), filterOn('$.offer_resource.s'), ...DERIVED]
const PUBLISHERS = 7
const PAGE = 1000

const recordOf = (n: number): ListingRecord => ({
  listingId: `listing-${n}`,
  publisherId: 1 + (n % PUBLISHERS),
  status: n % 5 === 0 ? 'closed' : 'open',
  createdAt: 1_700_000_000_000_000 + n,
  updatedAt: 1_700_000_000_000_000 + n + (n % 2),
  offerResource: `{"gpu_model":"${n % 7 === 0 ? 'a100-sxm' : 'H100'}","n":${n % 1000},"s":"${n % 3 === 0 ? 'é' : 'e'}${n % 100}"}`,
  acceptedEscrows: '[]',
  demands: '[]',
  maxDurationSeconds: 'null',
  oracleAddress: 'null',
  settlementOptions: '[]',
})

/** A store's page. */
const pageOf = (records: readonly ListingRecord[]): Row[] =>
  records.map((record) => ({
    space: 'listings',
    key: record.listingId,
    value: listingText(record),
    createdAt: record.createdAt,
    at: record.updatedAt,
  }))

function projectionWithPublishers(): Projection {
  const projection = new Projection(new CopyIndex(FILTERS), NAME, VOCABULARY)
  for (let id = 1; id <= PUBLISHERS; id++) {
    const storefrontUrl = id === 1 ? null : `https://seller-${id}.example/`
    const identity = { publisherId: id, scheme: 'eip191', identifier: `0x${id}` }
    projection.apply({
      kind: 'publisher',
      publisher: { ...identity, storefrontUrl, createdAt: 0, updatedAt: 0, rotations: [] },
    })
  }
  return projection
}

async function loadedBy(
  threads: number,
  listings: number,
  more: Partial<SegmentLoadOptions> = {},
): Promise<Projection> {
  const projection = projectionWithPublishers()
  const load = new SegmentLoad(projection, { threads, ...more })
  try {
    for (let first = 0; first < listings; first += PAGE) {
      const count = Math.min(PAGE, listings - first)
      await load.take(pageOf(Array.from({ length: count }, (_, n) => recordOf(first + n))))
    }
    await load.finish()
    return projection
  } finally {
    await load.close()
  }
}

function putOneByOne(listings: number): Projection {
  const projection = projectionWithPublishers()
  for (let n = 0; n < listings; n++) projection.apply({ kind: 'listing', record: recordOf(n) })
  return projection
}

const rowsOf = (projection: Projection, asked?: CopyConditions): string[] =>
  Array.from(
    OneSource.of(projection).entries(asked),
    ({ bytes, ...entry }) => `${JSON.stringify(entry)} ${Buffer.from(bytes).toString()}`,
  )

test.serial(
  'segments built by threads or by this one hold what is put one by one, and answer alike',
  async (t) => {
    const LISTINGS = 70_500
    const [threaded, local] = await Promise.all([loadedBy(2, LISTINGS), loadedBy(0, LISTINGS)])
    const put = putOneByOne(LISTINGS)
    const all = [threaded, local, put]
    const rows = rowsOf(put).join('\n')
    for (const projection of all) {
      t.is(projection.size, LISTINGS)
      if (projection !== put) t.true(rowsOf(projection).join('\n') === rows)

      projection.apply({ kind: 'listing_removed', listingId: 'listing-40000' })
      projection.apply({ kind: 'listing', record: { ...recordOf(12), status: 'expired' } })
      projection.apply({ kind: 'listing', record: recordOf(LISTINGS) })
    }
    const [n, s] = FILTERS
    const criteria: CopyConditions['criteria'] = [
      {
        filter: n!,
        onMissing: 'fail',
        test: { op: 'range', low: { value: 10, inclusive: true }, high: { value: 400, inclusive: false } },
      },
      { filter: s!, onMissing: 'fail', test: { op: 'in', values: new Set(['é12', 'e13', 'e15', 'é99']) } },
    ]
    for (const status of ['open', 'closed', 'expired', null] as const) {
      const asked = { status, criteria }
      const expected = rowsOf(put, asked)
      t.true(expected.length > 0 || status === 'expired')
      for (const projection of [threaded, local])
        t.true(rowsOf(projection, asked).join('\n') === expected.join('\n'))
    }
    const derived = parseCriteria({ filters: new Map(DERIVED.map((one) => [one.name, one])) }, [
      ['gpu', 'A100'],
    ])
    for (const projection of all)
      t.is(
        OneSource.of(projection).matches({ status: null, criteria: derived }).total,
        Math.floor(LISTINGS / 7) + 1,
      )
  },
)

test.serial('a load for which no thread starts builds the segments itself', async (t) => {
  const LISTINGS = 40_000
  const faults: unknown[] = []
  const onFault = (cause: unknown) => faults.push(cause)
  const file = new URL('file:///nowhere/worker.ts')
  const [alone, unable] = await Promise.all([loadedBy(0, LISTINGS), loadedBy(2, LISTINGS, { file, onFault })])
  t.is(unable.size, LISTINGS)
  t.true(rowsOf(unable).join('\n') === rowsOf(alone).join('\n'))
  t.true(faults.length >= 1 && faults.length <= 4, `${faults.length} threads`)
})

test.serial('a load rejects with the error of a thread', async (t) => {
  const projection = projectionWithPublishers()
  const load = new SegmentLoad(projection, { threads: 1 })
  t.teardown(() => load.close())
  const page = (first: number, offerResource: string) =>
    pageOf(Array.from({ length: PAGE }, (_, n) => ({ ...recordOf(first + n), offerResource })))
  for (let n = 0; n < 33; n++) await load.take(page(n * PAGE, n === 7 ? '{"s":"\\u00zz"}' : '{}'))
  await t.throwsAsync(load.finish(), { message: /^A segment could not be built: Bad Unicode escape/ })
})
