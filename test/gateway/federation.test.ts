import test from 'ava'
import fc from 'fast-check'
import { ANONYMOUS } from '../../src/domain/api-key.ts'
import type { NamedSource } from '../../src/domain/page.ts'
import { fanOut } from '../../src/gateway/fan-out.ts'
import type { FetchListings } from '../../src/upstream/fetch-listings.ts'
import { parseListingPage } from '../../src/upstream/listing-page.ts'
import { readPrefix } from '../../src/upstream/read-prefix.ts'
import { envelopeText, listingText } from '../helpers/fake-registry.ts'
import { upstreamOptions } from '../upstream/upstream-options.ts'
import { listingQuery } from './gateway-parts.ts'

/** The least that a Registry may send at once, so that little is read that was not asked for. */
const PAGE = 25
const SIGNAL = new AbortController().signal

type Listing = { id: number; second: number; publisher: number }

const textOf = ({ id, second, publisher }: Listing): string =>
  listingText({
    listing_id: `l-${String(id).padStart(3, '0')}`,
    publisher_id: publisher,
    created_at: new Date(Date.UTC(2026, 10, 20) + second * 1000).toISOString().slice(0, 19),
  })

const addressOf = (publisher: number): string => `0x${String(publisher).padStart(40, '0')}`

/** A Registry that knows its publishers, read as the gateway reads one. */
const registryOf = (name: string, priority: number, listings: readonly Listing[]): NamedSource => {
  const sorted = listings.toSorted((a, b) => b.second - a.second || a.id - b.id)
  const fetch: FetchListings = async (_query, offset) => {
    const texts = sorted.slice(offset, offset + PAGE).map(textOf)
    const page = parseListingPage(Buffer.from(envelopeText(texts, sorted.length)))
    const items = page.items.map((one) => ({
      ...one,
      item: { ...one.item, publisher: addressOf(Number(one.publisherId)) },
    }))
    return { ...page, items }
  }
  const upstream = upstreamOptions({ url: 'http://nowhere.example' })
  return {
    name,
    visibility: 'public',
    mode: 'live',
    priority,
    ask: (query, signal) => readPrefix(upstream, fetch, query, signal),
  }
}

const keyOf = ({ id, publisher }: Listing): string => `${id} ${publisher}`

/** Listings, of which each Registry carries some; ids are shared by publishers, and times by listings. */
const market = fc
  .tuple(
    fc.uniqueArray(
      fc.record({ id: fc.nat(120), second: fc.nat(60), publisher: fc.integer({ min: 1, max: 2 }) }),
      { maxLength: 160, selector: keyOf },
    ),
    fc.integer({ min: 1, max: 4 }),
    fc.infiniteStream(fc.nat(15)),
  )
  .map(([listings, count, carriers]) => {
    const held: Listing[][] = Array.from({ length: count }, () => [])
    for (const listing of listings) {
      const bits = carriers.next().value ?? 0
      for (const [n, registry] of held.entries()) {
        // An id is a Registry's own key (`protocol.md` 1.2).
        if (bits & (1 << n) && !registry.some(({ id }) => id === listing.id)) registry.push(listing)
      }
    }
    return held
  })

/** What `contract.md` 3.1 says of order and copies, told in the plainest way. */
const expectedOf = (held: readonly (readonly Listing[])[]): string[] => {
  const best = new Map<string, Listing & { rank: number }>()
  for (const [rank, listings] of held.entries()) {
    for (const one of listings) if (!best.has(keyOf(one))) best.set(keyOf(one), { ...one, rank })
  }
  return [...best.values()]
    .sort((a, b) => b.second - a.second || a.rank - b.rank || a.id - b.id)
    .map(({ id, publisher, rank }) => `${id} ${publisher} from ${rank}`)
}

test('any page is that slice of the whole merged sequence, from however many Registries it is read', async (t) => {
  await fc.assert(
    fc.asyncProperty(market, fc.nat(40), fc.integer({ min: 1, max: 60 }), async (held, offset, limit) => {
      const sources = held.map((listings, n) => registryOf(String(n), n + 1, listings))
      const federation = fanOut(sources.toReversed(), { budgetMs: 60_000 })
      const ask = async (page: { offset: number; limit: number }) => {
        const { items, total, complete } = await federation(listingQuery(page), ANONYMOUS, SIGNAL)
        t.true(complete)
        const shown = items.map(({ item, registry }) => {
          const { listing_id, publisher_id } = JSON.parse(Buffer.from(item.bytes).toString())
          return `${Number(listing_id.slice(2))} ${publisher_id} from ${registry}`
        })
        return { shown, total }
      }
      const expected = expectedOf(held)
      const { shown } = await ask({ offset, limit })
      t.deepEqual(shown, expected.slice(offset, offset + limit))
      t.is((await ask({ offset: 0, limit: 1000 })).total, expected.length)
    }),
    { numRuns: 200 },
  )
})
