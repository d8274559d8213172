import { setImmediate } from 'node:timers/promises'
import test from 'ava'
import fc from 'fast-check'
import type { Row } from '../../../src/listing-index/copy.ts'
import { OneSource } from '../../helpers/one-source.ts'
import { runs } from '../../helpers/runs.ts'
import { apply, conditions, FILTERS, filterOn, operations, readable } from './model.ts'

const SMALL = { tail: 4, segment: 32, step: 16 }
const ALL = { status: null, criteria: [] }

const entry = (key: string, position: number, text = '{}'): Row => ({
  key,
  seller: 1,
  status: 'open',
  position,
  bytes: Buffer.from(text),
})

const idsOf = (rows: Iterable<{ key: string }>): string[] => Array.from(rows, (row) => row.key)

test('index: merges that a turn leaves for later change no answer', async (t) => {
  const index = new OneSource(FILTERS, { ...SMALL, stepsPerTurn: 2 })
  const ids = Array.from({ length: 2000 }, (_, n) => `listing-${n}`)
  for (const [n, id] of ids.entries()) {
    index.put(entry(id, n))
    if (n % 250 === 249) await setImmediate()
  }
  for (const id of ids.filter((_, n) => n % 3 === 0)) index.remove(id)
  const left = ids.filter((_, n) => n % 3 !== 0).reverse()
  t.deepEqual(idsOf(index.entries()), left)
  t.deepEqual(idsOf(index.query({ ...ALL, limit: 50, offset: 1000 }).rows), left.slice(1000, 1050))
  t.is(index.size, left.length)
})

test('index: rows with thousands of values each are found by any of them', (t) => {
  const tags = filterOn('$.tags[*]')
  const index = new OneSource([tags])
  for (let n = 0; n < 40; n++) {
    const values = Array.from({ length: 3000 }, (_, k) => n * 1000 + k)
    index.put(entry(`wide-${n}`, n, JSON.stringify({ tags: values })))
  }
  const criteria = [
    { filter: tags, onMissing: 'fail' as const, test: { op: 'in' as const, values: new Set([5500]) } },
  ]
  t.deepEqual(idsOf(index.query({ ...ALL, criteria, limit: 10, offset: 0 }).rows), [
    'wide-5',
    'wide-4',
    'wide-3',
  ])
})

test('index: entries gives each untouched listing once, however the index changes meanwhile', (t) => {
  fc.assert(
    fc.property(operations(150), operations(150), (before, meanwhile) => {
      const index = new OneSource(FILTERS, SMALL)
      for (const step of before) apply(step, index)
      const touched = new Set(meanwhile.map((step) => (step.kind === 'put' ? step.entry.key : step.key)))
      const kept = idsOf(index.entries()).filter((id) => !touched.has(id))
      const seen: string[] = []
      const rest = meanwhile.values()
      for (const { key } of index.entries()) {
        seen.push(key)
        for (const step of rest.take(3)) apply(step, index)
      }
      t.deepEqual(
        seen.filter((id) => !touched.has(id)),
        kept,
      )
    }),
    { numRuns: runs(60) },
  )
})

test('index: totals, pages and readers are the same before, during and after a merge', (t) => {
  const asked = fc.array(conditions, { minLength: 4, maxLength: 4 })
  fc.assert(
    fc.property(operations(200), asked, fc.nat(100), (steps, asked, offset) => {
      const index = new OneSource(FILTERS, { tail: 4, segment: 64, step: 16 })
      for (const step of steps) apply(step, index)
      const pages = () => asked.map((one) => readable(index.query({ ...one, limit: 10, offset }).rows))
      const totals = () => asked.map((one) => index.query({ ...one, limit: 0, offset }).total)
      const [firstPages, firstTotals, whole] = [pages(), totals(), idsOf(index.entries())]
      const reader = index.entries()
      const seen: string[] = []
      for (let n = 0; n < 120; n++) {
        index.put({ ...entry('other', 1e6), seller: 9, status: 'open' })
        index.remove('other')
        t.deepEqual(pages(), firstPages)
        t.deepEqual(totals(), firstTotals)
        const { done, value } = reader.next()
        if (!done) seen.push(value.key)
      }
      t.deepEqual([...seen, ...idsOf(reader)], whole)
      t.deepEqual(idsOf(index.entries()), whole)
    }),
    { numRuns: runs(20) },
  )
})
