import test from 'ava'
import { collectGarbage } from '../../helpers/collect-garbage.ts'
import { OneSource } from '../../helpers/one-source.ts'
import { filterOn } from './model.ts'

/** Listings of a segment, and enough more for merges to end. */
const SEGMENT_ROWS = 32_768
const SOME = 1000

test.serial('memory: values that occur once cost memory per listing, not per value times listing', (t) => {
  const filters = ['$.text', '$.number', '$.large'].map((path) => filterOn(path))
  const bytesPerListing = (count: number): number => {
    const before = memoryInUse()
    const index = new OneSource(filters)
    for (let n = 0; n < count; n++) {
      put(index, n, { text: `value-${n}-of-a-flood`, number: n * 7919, large: n + 0.5 })
    }
    const held = memoryInUse() - before
    t.is(index.size, count)
    return held / count
  }
  bytesPerListing(1000) // what is compiled and cached once
  const few = bytesPerListing(SEGMENT_ROWS + SOME)
  const many = bytesPerListing(2 * SEGMENT_ROWS + SOME)
  t.true(few < 1500, `${few} bytes per listing`)
  t.true(many < 1.5 * few, `${many} bytes per listing among many, ${few} among few`)
})

test.serial('memory: replacing the same listings again and again does not grow it', (t) => {
  const index = new OneSource([])
  const padding = 'x'.repeat(100_000)
  const before = memoryInUse()
  // 300 MB in all, of which 2 MB are alive at any time.
  for (let round = 0; round < 3000; round++) put(index, round % 20, { round, padding })
  const held = memoryInUse() - before
  t.is(index.size, 20)
  t.true(held < 60_000_000, `${held} bytes are held`)
})

const put = (index: OneSource, n: number, document: unknown): void =>
  index.put({
    key: `listing-${n}`,
    seller: 1,
    status: 'open',
    position: n,
    bytes: Buffer.from(JSON.stringify(document)),
  })

/** Collects until nothing more is freed: buffers are freed after the collection that finds them. */
function memoryInUse(): number {
  for (let last = Number.POSITIVE_INFINITY; ; ) {
    collectGarbage()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    if (heapUsed + arrayBuffers >= last) return last
    last = heapUsed + arrayBuffers
  }
}
