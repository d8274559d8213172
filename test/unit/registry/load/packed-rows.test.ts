import test from 'ava'
import fc from 'fast-check'
import { LISTING_STATUSES, type ListingRecord, renderListing } from '../../../../src/domain/listing.ts'
import { PackedRows } from '../../../../src/registry/load/packed-rows.ts'
import { packed } from '../../../helpers/packed.ts'
import { runs } from '../../../helpers/runs.ts'

const text = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  .map((one) => one.replace(/\p{Cc}/gu, 'x'))
const time = fc.integer({ min: 0, max: 9_000_000_000_000_000 })
const json = fc.jsonValue().map((value) => JSON.stringify(value))
/** Longer than any buffer of usual size. */
const longJson = fc.constant(JSON.stringify('é'.repeat(70_000)))

const record: fc.Arbitrary<ListingRecord> = fc
  .record({
    listingId: fc.oneof(text, fc.uuid(), fc.constantFrom('"', '\\', 'a"b', '\u2028', '\u{1f680}')),
    publisherId: fc.integer({ min: 1, max: 4 }),
    status: fc.constantFrom(...LISTING_STATUSES),
    createdAt: time,
    updatedAt: fc.option(time),
    offerResource: fc.oneof({ weight: 20, arbitrary: json }, { weight: 1, arbitrary: longJson }),
    acceptedEscrows: json,
    demands: json,
    maxDurationSeconds: fc.constantFrom('null', '3600', '123456789012345678901234567890'),
    oracleAddress: fc.constantFrom('null', '"0xabc"'),
    settlementOptions: fc.oneof(fc.constant('[]'), json),
  })
  .map(({ updatedAt, ...rest }) => ({ ...rest, updatedAt: updatedAt ?? rest.createdAt }))

const STOREFRONTS = new Map([
  [1, 'https://seller.example/'],
  [2, null],
  [3, 'https://"quoted".example/ü'],
])

test('packed listings become the rows that they would be rendered as, by created_at', (t) => {
  fc.assert(
    fc.property(fc.array(fc.array(record, { maxLength: 8 }), { maxLength: 3 }), (pages) => {
      const rows = new PackedRows(STOREFRONTS).inOrder(pages.map(packed))
      t.deepEqual(
        Array.from(rows, ({ bytes, ...rest }) => ({ ...rest, row: Buffer.from(bytes).toString() })),
        pages
          .flat()
          .toSorted((one, other) => one.createdAt - other.createdAt)
          .map((one) => {
            const { listingId, publisherId, status, createdAt } = one
            const row = renderListing(one, STOREFRONTS.get(publisherId) ?? null)
            return { listingId, publisherId, status, createdAt, row }
          }),
      )
    }),
    { numRuns: runs(200) },
  )
})
