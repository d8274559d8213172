import test from 'ava'
import fc from 'fast-check'
import { merge } from '../../src/domain/merge.ts'
import type { Item, NamedSource } from '../../src/domain/page.ts'
import { fanOut } from '../../src/gateway/fan-out.ts'
import { Snapshot } from '../../src/gateway/snapshot.ts'
import { listingText } from '../helpers/fake-registry.ts'
import { itemOf, listingQuery, pageOf } from './gateway-parts.ts'

type Copy = { id: number; publisher: string; second: number }

/** Never one instant for two publishers: the order of their namesakes is nobody's promise. */
const instantOf = ({ publisher, second }: Omit<Copy, 'id'>): number =>
  Date.UTC(2026, 0, 1) + second * 1000 + (publisher === '0xa' ? 0 : 500)

const textOf = ({ id, publisher, second }: Copy): string =>
  listingText({
    listing_id: `listing-${id}`,
    publisher_id: publisher,
    created_at: new Date(instantOf({ publisher, second })).toISOString(),
  })

/** A snapshot source that holds these copies, one of each id and publisher. */
const sourceOf = async (name: string, priority: number, copies: readonly Copy[]): Promise<Held> => {
  const listings = new Map(
    copies.map((copy): [string, Item] => [
      `listing-${copy.id}\n${copy.publisher}`,
      { ...itemOf(textOf(copy)), publisher: copy.publisher },
    ]),
  )
  const snapshot = await new Snapshot(name, []).with(listings, [])
  return {
    name,
    priority,
    visibility: 'public',
    mode: 'snapshot',
    all: [...snapshot.listings.values()],
    ask: async (query, signal) => ({
      ...(await snapshot.ask(query, signal)),
      find: (listingId, known) => snapshot.find(listingId, known, query),
    }),
  }
}

type Held = NamedSource & { all: readonly Item[] }

const copy = fc.record({
  id: fc.nat(12),
  publisher: fc.constantFrom('0xa', '0xb'),
  second: fc.nat(60),
})

test('every page of snapshots is a slice of all that they hold, wherever the copies of a listing lie', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(copy, { maxLength: 14 }), { minLength: 2, maxLength: 4 }),
      fc.integer({ min: 1, max: 5 }),
      async (held, limit) => {
        const sources = await Promise.all(held.map((copies, n) => sourceOf(`s${n}`, n, copies)))
        const answers = sources.map((source) => ({
          source,
          page: { ...pageOf([]), items: source.all, total: source.all.length },
        }))
        const whole = merge(answers, { offset: 0, limit: 1000 }).items
        const federation = fanOut(sources, { budgetMs: 10_000 })
        for (let offset = 0; offset < whole.length; offset += limit) {
          const query = listingQuery({ offset, limit })
          const { items } = await federation(query, { kind: 'anonymous' }, new AbortController().signal)
          t.deepEqual(items, whole.slice(offset, offset + limit))
        }
      },
    ),
    { numRuns: 150 },
  )
})
