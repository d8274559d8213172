import test from 'ava'
import { EntrepotError } from '../../src/errors.ts'
import { matchesAll } from '../../src/filter-spec/evaluate.ts'
import { parseCriteria } from '../../src/filter-spec/parameters.ts'
import { type FilterVector, filterVectors } from '../helpers/filter-vectors.ts'

const vectors = filterVectors()

test('vectors: every test vector is present', (t) => {
  t.is(vectors.length, 553)
  t.is(new Set(vectors.map(({ id }) => id)).size, 553)
})

for (const vector of vectors) {
  test(`the deployed protocol's ${vector.id}: ${vector.expected}`, (t) => {
    if (vector.expected === 'error') {
      const error = t.throws(() => parseCriteria(vector.spec, vector.pairs), { instanceOf: EntrepotError })
      t.is(error.status, 400)
      t.is(error.message, ourSentence(vector))
    } else {
      const criteria = parseCriteria(vector.spec, vector.pairs)
      t.is(matchesAll(criteria, vector.listing) ? 'match' : 'no-match', vector.expected)
    }
  })
}

/** The deployed sentence; where it shows a line break as Python's escape, ours has the line break. */
const ourSentence = ({ detail }: FilterVector): string => detail!.replaceAll('\\n', '\n')
