import test from 'ava'
import fc from 'fast-check'
import { LISTING_STATUSES } from '../../../src/domain/listing.ts'
import { matchesAll } from '../../../src/filter-spec/evaluate.ts'
import { parseCriteria } from '../../../src/filter-spec/parameters.ts'
import { parseJson } from '../../../src/json/value.ts'
import { filterVectors } from '../../helpers/filter-vectors.ts'
import { exactJson } from '../../helpers/json-text.ts'
import { OneSource } from '../../helpers/one-source.ts'
import { runs } from '../../helpers/runs.ts'
import { apply, conditions, criterion, documentText, FILTERS, Model, operations, readable } from './model.ts'

/** Small segments, so that a short test seals and merges many of them. */
const SMALL = { tail: 1, segment: 32, step: 16 }

test('agreement: every vector of the deployed protocol holds in the index', (t) => {
  const vectors = filterVectors().filter(({ expected }) => expected !== 'error')
  t.true(vectors.length > 400)
  for (const { id, spec, pairs, listing, expected } of vectors) {
    const index = new OneSource(spec.filters.values(), SMALL)
    const bytes = Buffer.from(exactJson(listing))
    index.put({ key: id, seller: 1, status: 'open', position: 1, bytes })
    const criteria = parseCriteria(spec, pairs)
    const { total } = index.query({ status: 'open', criteria, limit: 1, offset: 0 })
    t.is(total, expected === 'match' ? 1 : 0, id)
  }
})

test('agreement: index and evaluator match the same, for any listing and criterion', (t) => {
  fc.assert(
    fc.property(documentText, criterion, (text, asked) => {
      const index = new OneSource(FILTERS, SMALL)
      index.put({ key: 'a', seller: 1, status: 'open', position: 1, bytes: Buffer.from(text) })
      const query = { status: null, criteria: [asked], limit: 1, offset: 0 }
      t.is(index.query(query).total === 1, matchesAll([asked], parseJson(text)))
    }),
    { numRuns: runs(1000) },
  )
})

test('agreement: index and evaluator match the same after any puts, replacements and removals', (t) => {
  fc.assert(
    fc.property(operations(300), fc.array(conditions, { minLength: 8, maxLength: 8 }), (steps, asked) => {
      const index = new OneSource(FILTERS, SMALL)
      const model = new Model()
      for (const [n, step] of steps.entries()) {
        apply(step, index)
        apply(step, model)
        if (n % 40 !== 39 && n !== steps.length - 1) continue
        const all = model.matches({ status: null, criteria: [] })
        t.is(index.size, all.length)
        t.deepEqual(readable(all.map(({ key }) => index.get(key)!)), readable(all))
        for (const status of LISTING_STATUSES)
          t.is(index.index.countOf(index.source, status), model.matches({ status, criteria: [] }).length)
        for (const wanted of asked) {
          const expected = model.matches(wanted)
          const { total, rows } = index.query({ ...wanted, limit: 1000, offset: 0 })
          t.is(total, expected.length)
          t.deepEqual(readable(rows), readable(expected))
        }
      }
    }),
    { numRuns: runs(40) },
  )
})
