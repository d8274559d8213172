import test, { type ExecutionContext } from 'ava'
import type { Page } from '../../src/domain/page.ts'
import type { ListingQuery } from '../../src/domain/query.ts'
import type { UpstreamOptions } from '../../src/domain/upstream.ts'
import { createAgent } from '../../src/upstream/agent.ts'
import { fetchListings } from '../../src/upstream/fetch-listings.ts'
import { getFrom } from '../../src/upstream/get.ts'
import {
  ADDRESS_FRESH_MS,
  MAX_SEARCH_PAGES,
  PublisherBook,
  SEARCH_AGAIN_MS,
  SEARCH_REST_MS,
  SEARCH_RETRY_MS,
} from '../../src/upstream/publisher-book.ts'
import { fetchPublishers, type PublisherPage } from '../../src/upstream/publishers.ts'
import { readPrefix } from '../../src/upstream/read-prefix.ts'
import { withPublishers } from '../../src/upstream/with-publishers.ts'
import {
  type FakeOptions,
  type FakeRegistry,
  listingText,
  startFakeRegistry,
} from '../helpers/fake-registry.ts'
import { type ManualClock, manualClock } from '../helpers/manual-clock.ts'
import { listingQuery, upstreamOptions } from './upstream-options.ts'

const address = (id: number): string => `0x${id.toString(16).padStart(40, '0')}`
const listingOf = (id: number): string => listingText({ listing_id: `by-${id}`, publisher_id: id })
/** Newest first. */
const publishers = (count: number): [number, string][] =>
  Array.from({ length: count }, (_, n) => [count - n, address(count - n)])

const start = async (
  t: ExecutionContext,
  fakeOptions: FakeOptions,
  options: Partial<UpstreamOptions> = {},
): Promise<{
  fake: FakeRegistry
  clock: ManualClock
  ask: (query?: Partial<ListingQuery>, signal?: AbortSignal) => Promise<Page>
}> => {
  const fake = await startFakeRegistry(fakeOptions)
  const upstream = upstreamOptions({ url: fake.url, ...options })
  const agent = createAgent(upstream)
  t.teardown(async () => {
    await agent.destroy()
    await fake.close()
  })
  const clock = manualClock()
  const book = new PublisherBook(fetchPublishers(getFrom(upstream, agent)), clock)
  const fetch = withPublishers(book, fetchListings(upstream, agent))
  return {
    fake,
    clock,
    ask: (query, signal = new AbortController().signal) =>
      readPrefix(upstream, fetch, listingQuery(query), signal),
  }
}

const signers = ({ items }: Page): (string | null)[] => items.map(({ publisher }) => publisher)

test('listings come with the addresses of their publishers, looked up once', async (t) => {
  const { fake, ask } = await start(
    t,
    {
      items: [1, 2, 1].map((id, n) => listingText({ listing_id: `${n}`, publisher_id: id })),
      publishers: publishers(2),
    },
    { key: 'secret' },
  )
  const expected = [address(1), address(2), address(1)]
  t.deepEqual(signers(await ask()), expected)
  t.deepEqual(signers(await ask()), expected)
  t.is(fake.publisherRequests.length, 1)
  t.is(fake.publisherRequests[0]?.headers.authorization, 'Bearer secret')
  t.deepEqual(Object.fromEntries(fake.publisherRequests[0]!.parameters), { limit: '200', offset: '0' })
})

test('an address is shown in lower case, and what is none is not shown', async (t) => {
  const { ask } = await start(t, {
    items: [1, 2, 3].map(listingOf),
    publishers: [
      [1, `0x${'AB'.repeat(20)}`],
      [2, '0x12'],
      [3, 'javascript:alert(1)'],
    ],
  })
  t.deepEqual(signers(await ask()), [`0x${'ab'.repeat(20)}`, null, null])
})

test('a publisher who is new is found on the first page, an old one as far back as need be', async (t) => {
  const { fake, clock, ask } = await start(t, { items: [listingOf(1)], publishers: publishers(401) })
  t.deepEqual(signers(await ask()), [address(1)])
  t.is(fake.publisherRequests.length, 3)
  clock.advance(SEARCH_REST_MS)
  fake.publishers = publishers(402)
  fake.items = [listingOf(402), listingOf(1)]
  t.deepEqual(signers(await ask()), [address(1), address(402)])
  t.is(fake.publisherRequests.length, 4)
})

test('who was searched in vain is not searched again for a while', async (t) => {
  const { fake, clock, ask } = await start(t, { items: [listingOf(7)], publishers: publishers(2) })
  t.deepEqual(signers(await ask()), [null])
  clock.advance(SEARCH_AGAIN_MS - 1)
  t.deepEqual(signers(await ask()), [null])
  t.is(fake.publisherRequests.length, 1)
  fake.publishers = publishers(7)
  clock.advance(1)
  while (signers(await ask())[0] !== address(7)) t.true(fake.requests.length < 100)
  t.is(fake.publisherRequests.length, 2)
})

test('a Registry that begins anew is not shown with its former publishers for good', async (t) => {
  const { fake, clock, ask } = await start(t, { items: [listingOf(1)], publishers: [[1, address(1)]] })
  t.deepEqual(signers(await ask()), [address(1)])
  fake.publishers = [[1, address(99)]]
  clock.advance(ADDRESS_FRESH_MS)
  t.deepEqual(signers(await ask()), [address(1)], 'nobody waits for what is known')
  while (signers(await ask())[0] !== address(99)) t.true(fake.requests.length < 100)
  t.is(fake.publisherRequests.length, 2)
})

test('without a list of publishers listings are shown all the same, and it is not asked for all the time', async (t) => {
  const { fake, clock, ask } = await start(t, { items: [listingOf(1)] })
  t.deepEqual(signers(await ask()), [null])
  t.deepEqual(signers(await ask()), [null])
  t.is(fake.publisherRequests.length, 1)
  fake.publishers = publishers(1)
  clock.advance(SEARCH_RETRY_MS)
  t.deepEqual(signers(await ask()), [null], 'nobody waits for what has failed')
  while (signers(await ask())[0] !== address(1)) t.true(fake.requests.length < 100)
})

test('a Registry whose publishers are ever new ones is not searched all the time', async (t) => {
  const { fake, clock, ask } = await start(t, { items: [listingOf(1)], publishers: [] })
  for (let id = 1; id < 10; id++) {
    fake.items = [listingOf(id)]
    await ask()
  }
  t.is(fake.publisherRequests.length, 1)
  clock.advance(SEARCH_REST_MS)
  await ask()
  t.is(fake.publisherRequests.length, 2)
})

test('a reader whose time is over has the listings that are there', async (t) => {
  const over = new AbortController()
  const book = new PublisherBook(() => new Promise<PublisherPage>(() => {}), manualClock())
  const fake = await startFakeRegistry({ items: [listingOf(1)] })
  const upstream = upstreamOptions({ url: fake.url })
  const agent = createAgent(upstream)
  t.teardown(async () => {
    await agent.destroy()
    await fake.close()
  })
  const listings = fetchListings(upstream, agent)
  const fetch = withPublishers(book, async (...asked) => {
    const page = await listings(...asked)
    setImmediate(() => over.abort(new Error('over')))
    return page
  })
  const { items } = await fetch(listingQuery(), 0, over.signal)
  t.deepEqual(
    items.map(({ item }) => [item.listingId, item.publisher]),
    [['by-1', null]],
  )
})

test('an endless list of publishers is read only so far', async (t) => {
  let pages = 0
  const endless = async (offset: number): Promise<PublisherPage> => {
    pages++
    const page = Array.from({ length: 200 }, (_, n) => ({ id: 1000 + offset + n, address: address(1) }))
    return { publishers: page, received: 200 }
  }
  const book = new PublisherBook(endless, manualClock())
  await book.learn(new Set([1]))
  t.is(pages, MAX_SEARCH_PAGES)
  t.is(book.addressOf(1), null)
})

test('a publisher that is asked for is checked here where it is known', async (t) => {
  const { ask } = await start(t, { items: [1, 2, 7].map(listingOf), publishers: publishers(2) })
  const { items, total } = await ask({ publisher: address(1) })
  t.deepEqual(
    items.map(({ listingId }) => listingId),
    ['by-1', 'by-7'],
  )
  t.is(total, 2)
})

test('`_meta` of an item is read only of a gateway, and only what it may say', async (t) => {
  const meta = {
    registry: 'curated',
    publisher: `0x${'AB'.repeat(20)}`,
    also_in: ['local', 'No Name', 7],
    stale: true,
  }
  const told = listingText({ _meta: meta })
  const forged = [{ ...meta, registry: '../x' }, { ...meta, registry: 'a\u001b' }, 7].map((_meta, n) =>
    listingText({ listing_id: `f${n}`, _meta }),
  )
  const items = [told, ...forged]
  const gateway = await (await start(t, { items }, { kind: 'gateway' })).ask()
  const [first, ...rest] = gateway.items.toSorted((a, b) => b.listingId.localeCompare(a.listingId, 'en'))
  t.is(first?.publisher, `0x${'ab'.repeat(20)}`)
  t.deepEqual(first?.origin, { registry: 'curated', alsoIn: ['local'], stale: true, differs: false })
  t.true(rest.every(({ publisher, origin }) => publisher === null && origin === undefined))
  const registry = await (await start(t, { items })).ask()
  t.true(registry.items.every(({ publisher, origin }) => publisher === null && origin === undefined))
  for (const { items: shown } of [gateway, registry])
    t.true(shown.every(({ bytes }) => !Buffer.from(bytes).includes('_meta')))
})
