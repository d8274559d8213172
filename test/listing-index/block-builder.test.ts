import test from 'ava'
import fc from 'fast-check'
import type { BlockParts } from '../../src/listing-index/block.ts'
import { BlockBuilder } from '../../src/listing-index/block-builder.ts'
import { type IndexEntry, ListingIndex } from '../../src/listing-index/listing-index.ts'
import { buffersIn } from '../../src/registry/buffers-in.ts'
import { apply, conditions, documentText, FILTERS, Model, operations, readable } from './model.ts'

const SMALL = { blockSlots: 64 }

/** Oldest first, no id twice. */
const risingEntries = fc
  .array(
    fc.record({
      publisherId: fc.integer({ min: 1, max: 3 }),
      status: fc.constantFrom('open' as const, 'closed' as const, 'expired' as const),
      text: documentText,
    }),
    { minLength: 1, maxLength: 150, size: 'max' },
  )
  .map((drawn) =>
    drawn.map(
      ({ publisherId, status, text }, n): IndexEntry => ({
        // Some are in `operations` too, and are replaced and removed there.
        listingId: `listing-${n}`,
        publisherId,
        status,
        createdAt: n - 1000,
        bytes: Buffer.from(text),
      }),
    ),
  )

/** As a thread hands it to another: nothing of it is left here. */
const handedOver = <T>(value: T): T => structuredClone(value, { transfer: buffersIn(value) })

function adopt(index: ListingIndex, block: BlockParts): void {
  for (const _step of index.adopt(block));
}

function adoptAll(index: ListingIndex, entries: readonly IndexEntry[], perBlock: number): void {
  for (let n = 0; n < entries.length; n += perBlock) {
    const builder = new BlockBuilder(index.plan)
    for (const entry of entries.slice(n, n + perBlock)) builder.add(entry)
    adopt(index, handedOver(builder.finish()))
  }
}

test('an index that adopts blocks answers like one into which all was put, then and ever after', (t) => {
  fc.assert(
    fc.property(
      risingEntries,
      fc.integer({ min: 1, max: 64 }),
      operations(100),
      fc.array(conditions, { minLength: 8, maxLength: 8 }),
      (entries, perBlock, steps, asked) => {
        const index = new ListingIndex(FILTERS, SMALL)
        const model = new Model()
        adoptAll(index, entries, perBlock)
        for (const entry of entries) model.put(entry)
        const compare = () => {
          t.is(index.size, model.matches({ status: null, publisherId: null, criteria: [] }).length)
          for (const wanted of asked) {
            const expected = model.matches(wanted)
            const { total, rows } = index.query({ ...wanted, limit: 1000, offset: 0 })
            t.is(total, expected.length)
            t.deepEqual(readable(rows), readable(expected))
          }
        }
        compare()
        for (const [n, step] of steps.entries()) {
          apply(step, index)
          apply(step, model)
          if (n % 30 === 0) compare()
        }
        compare()
      },
    ),
    { numRuns: 40 },
  )
})

const entry = (listingId: string, createdAt: number): IndexEntry => ({
  listingId,
  publisherId: 1,
  status: 'open',
  createdAt,
  bytes: Buffer.from('{"a":1}'),
})

function blockOf(index: ListingIndex, ...entries: IndexEntry[]) {
  const builder = new BlockBuilder(index.plan)
  for (const one of entries) builder.add(one)
  return builder.finish()
}

test('an adopted listing takes the place of an older one with its id', (t) => {
  const index = new ListingIndex(FILTERS, SMALL)
  index.put(entry('a', 1))
  index.put(entry('b', 2))
  adopt(index, blockOf(index, entry('c', 3), entry('a', 4)))
  t.deepEqual(
    Array.from(index.entries(), ({ listingId }) => listingId),
    ['a', 'c', 'b'],
  )
  t.is(index.size, 3)
})

test('a block that is not newer than all else, or of another size, is refused and changes nothing', (t) => {
  const index = new ListingIndex(FILTERS, SMALL)
  index.put(entry('a', 5))
  t.throws(() => adopt(index, blockOf(index, entry('b', 4))), { instanceOf: RangeError })
  const larger = new ListingIndex(FILTERS, { blockSlots: 96 })
  t.throws(() => adopt(index, blockOf(larger, entry('b', 6))), { instanceOf: RangeError })
  t.is(index.size, 1)
  t.is(index.version, 1)
})

test('listings that do not come oldest first, or are too many, make no block', (t) => {
  const index = new ListingIndex(FILTERS, { blockSlots: 32 })
  t.throws(() => blockOf(index, entry('a', 2), entry('b', 1)), { instanceOf: RangeError })
  const many = Array.from({ length: 33 }, (_, n) => entry(`l${n}`, n))
  t.throws(() => blockOf(index, ...many), { instanceOf: RangeError })
})
