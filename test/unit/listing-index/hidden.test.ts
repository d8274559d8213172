import test from 'ava'
import fc from 'fast-check'
import { ListingIndex } from '../../../src/listing-index/listing-index.ts'
import { runs } from '../../helpers/runs.ts'
import { apply, conditions, FILTERS, Model, operations, readable } from './model.ts'

test('hidden rows: an index leaves them out and counts them, after any puts, removals and changes of the set', (t) => {
  const changes = fc.array(fc.tuple(fc.nat(20), fc.boolean()), { minLength: 4, maxLength: 8 })
  fc.assert(
    fc.property(operations(200), conditions, changes, (steps, asked, toggles) => {
      const index = new ListingIndex(FILTERS, { tail: 2, segment: 32, step: 16 })
      const model = new Model()
      const hidden = { keys: new Set<string>(), version: 0 }
      const matches = index.matches({ ...asked, hidden: [hidden] })
      const portion = Math.ceil(steps.length / toggles.length)
      for (const [n, [nth, isHidden]] of toggles.entries()) {
        for (const step of steps.slice(n * portion, (n + 1) * portion)) {
          apply(step, index)
          apply(step, model)
        }
        const all = model.matches({ status: null, publisherId: null, criteria: [] })
        const id = all[nth % Math.max(1, all.length)]?.listingId
        if (id !== undefined) {
          if (isHidden) hidden.keys.add(id)
          else hidden.keys.delete(id)
          hidden.version++
        }
        const matching = model.matches(asked)
        const expected = matching.filter(({ listingId }) => !hidden.keys.has(listingId))
        const page = index.query({ ...asked, hidden: [hidden], limit: 1000 })
        t.deepEqual(readable(page.rows), readable(expected))
        t.deepEqual([page.total, page.hidden], [expected.length, matching.length - expected.length])
        t.deepEqual([matches.total, matches.hidden], [page.total, page.hidden])
        t.deepEqual(
          Array.from(matches.rows(), ({ listingId }) => listingId).sort(),
          expected.map(({ listingId }) => listingId).sort(),
        )
      }
    }),
    { numRuns: runs(100) },
  )
})
