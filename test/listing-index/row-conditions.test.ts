import test from 'ava'
import fc from 'fast-check'
import { matchesAll } from '../../src/filter-spec/evaluate.ts'
import { parseCriteria } from '../../src/filter-spec/parameters.ts'
import { parseJson } from '../../src/json/value.ts'
import { rowConditions } from '../../src/listing-index/row-conditions.ts'
import { filterVectors } from '../helpers/filter-vectors.ts'
import { exactJson } from '../helpers/json-text.ts'
import { criterion, documentText } from './model.ts'

test('row conditions: every vector of the deployed protocol holds on bytes', (t) => {
  const vectors = filterVectors().filter(({ expected }) => expected !== 'error')
  t.true(vectors.length > 400)
  for (const { id, spec, pairs, listing, expected } of vectors) {
    const conditions = rowConditions(parseCriteria(spec, pairs))
    t.is(conditions.accept(Buffer.from(exactJson(listing))) ? 'match' : 'no-match', expected, id)
  }
})

test('row conditions: bytes and documents agree on any listing and any criteria', (t) => {
  fc.assert(
    fc.property(
      fc.array(documentText, { minLength: 1, maxLength: 5 }),
      fc.array(criterion, { maxLength: 4 }),
      (texts, criteria) => {
        const conditions = rowConditions(criteria)
        for (const text of texts)
          t.is(conditions.accept(Buffer.from(text)), matchesAll(criteria, parseJson(text)), text)
      },
    ),
    { numRuns: 1000 },
  )
})
