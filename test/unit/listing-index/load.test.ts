import test from 'ava'
import fc from 'fast-check'
import type { Row } from '../../../src/listing-index/copy.ts'
import type { SegmentData } from '../../../src/listing-index/segment.ts'
import { SegmentBuilder } from '../../../src/listing-index/segment-builder.ts'
import { buffersIn } from '../../../src/registry/load/build-segment.ts'
import { OneSource } from '../../helpers/one-source.ts'
import { runs } from '../../helpers/runs.ts'
import { run } from '../../helpers/steps.ts'
import { apply, conditions, documentText, FILTERS, Model, operations, readable } from './model.ts'

const SMALL = { tail: 8, segment: 64, step: 16 }

/** Oldest first, no id twice. */
const risingEntries = fc
  .array(
    fc.record({
      seller: fc.integer({ min: 1, max: 3 }),
      status: fc.constantFrom('open' as const, 'closed' as const, 'expired' as const),
      text: documentText,
    }),
    { minLength: 1, maxLength: 150, size: 'max' },
  )
  .map((drawn) =>
    drawn.map(
      ({ seller, status, text }, n): Row => ({
        // Some are in `operations` too, and are replaced and removed there.
        key: `listing-${n}`,
        seller,
        status,
        position: n - 1000,
        bytes: Buffer.from(text),
      }),
    ),
  )

function segmentOf(index: OneSource, entries: readonly Row[]): SegmentData {
  const builder = new SegmentBuilder(index.plan)
  for (const entry of entries) builder.add(entry)
  return run(builder.finish())
}

/** As a thread hands it to another: nothing of it is left here. */
function handedOver<T>(value: T): T {
  return structuredClone(value, { transfer: buffersIn(value) })
}

function adopt(index: OneSource, segment: SegmentData): void {
  for (const _step of index.adopt(segment));
}

test('load: loaded and adopted listings are found like those that were put, also after changes', (t) => {
  fc.assert(
    fc.property(
      risingEntries,
      fc.option(fc.integer({ min: 1, max: 64 })),
      operations(100),
      fc.array(conditions, { minLength: 8, maxLength: 8 }),
      (entries, perSegment, steps, asked) => {
        const index = new OneSource(FILTERS, SMALL)
        const model = new Model()
        for (const entry of entries) model.put(entry)
        if (perSegment === null) for (const _step of index.load(entries.toReversed()));
        else
          for (let n = 0; n < entries.length; n += perSegment)
            adopt(index, handedOver(segmentOf(index, entries.slice(n, n + perSegment))))
        const compare = () => {
          t.is(index.size, model.matches({ status: null, criteria: [] }).length)
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
    { numRuns: runs(40) },
  )
})

const entry = (key: string, position: number): Row => ({
  key,
  seller: 1,
  status: 'open',
  position,
  bytes: Buffer.from('{"a":1}'),
})

test('load: long listings are read in as many steps as short ones of as many bytes', (t) => {
  const stepsOf = (count: number, length: number): number => {
    const bytes = Buffer.from(JSON.stringify('x'.repeat(length)))
    const listing = (n: number) => ({
      key: `${n}`,
      seller: 1,
      status: 'open' as const,
      position: n,
      bytes,
    })
    return Array.from(new OneSource([]).load(Array.from({ length: count }, (_, n) => listing(n)))).length
  }
  t.true(stepsOf(50, 60_000) >= 10)
  t.true(Math.abs(stepsOf(50, 60_000) - stepsOf(3000, 1000)) <= 5)
})

test('load: an adopted listing replaces the one with its id', (t) => {
  const index = new OneSource(FILTERS, SMALL)
  index.put(entry('a', 1))
  index.put(entry('b', 2))
  adopt(index, segmentOf(index, [entry('c', 3), entry('a', 4)]))
  t.deepEqual(
    Array.from(index.entries(), ({ key }) => key),
    ['a', 'c', 'b'],
  )
  t.is(index.size, 3)
})

test('load: a segment refuses rows that are not oldest first, and too many', (t) => {
  const index = new OneSource(FILTERS, { tail: 8, segment: 32, step: 16 })
  t.throws(() => segmentOf(index, [entry('a', 2), entry('b', 1)]), { instanceOf: RangeError })
  const many = Array.from({ length: 33 }, (_, n) => entry(`l${n}`, n))
  t.throws(() => segmentOf(index, many), { instanceOf: RangeError })
})
