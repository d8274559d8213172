import test, { type ExecutionContext } from 'ava'
import { createGet } from '../../src/upstream/http/get.ts'
import { scannerOf } from '../../src/upstream/page/item-scanner.ts'
import { ListingPage } from '../../src/upstream/page/listing-page.ts'
import {
  PUBLISHER_FRESH_MS,
  PUBLISHERS_WAIT_MS,
  PublisherDirectory,
} from '../../src/upstream/publisher-directory.ts'
import { eventually } from '../helpers/eventually.ts'
import { envelopeText, listingText } from '../helpers/fake-registry.ts'
import { manualClock } from '../helpers/manual-clock.ts'
import { scriptAnswers } from '../helpers/scripted-answers.ts'
import { listingQuery, upstreamOptions } from '../helpers/upstream.ts'

const SEARCH_PAUSE_MS = 1_000
const SEARCH_RETRY_MS = 5_000
const SEARCH_AGAIN_MS = 60_000

function address(id: number): string {
  return `0x${id.toString(16).padStart(40, '0')}`
}

function entry(publisher_id: unknown, identifier = address(Number(publisher_id)), more: object = {}): object {
  return { publisher_id, storefront_url: 'http://s', identities: [{ scheme: 'eip191', identifier }], ...more }
}

/** Newest first. */
function entries(count: number): object[] {
  return Array.from({ length: count }, (_, n) => entry(count - n))
}

/** A Registry with these publishers; `null` answers 404. */
function open(t: ExecutionContext, publishers: object[] | null) {
  const upstream = { publishers }
  const { url, agent, seen } = scriptAnswers(t, ({ searchParams }) => {
    if (upstream.publishers === null) return [404, '{}']
    const [offset, limit] = ['offset', 'limit'].map((name) => Number(searchParams.get(name)))
    return [200, JSON.stringify({ items: upstream.publishers.slice(offset, offset! + limit!) })]
  })
  const clock = manualClock()
  const directory = new PublisherDirectory(createGet(upstreamOptions({ url, key: 'secret' }), agent), clock)
  /** The publishers of listings with these `publisher_id`s. */
  const attribute = async (...ids: (number | null)[]) => {
    const items = itemsOf(ids)
    await directory.attribute(items)
    return items.map(({ publisher }) => publisher)
  }
  return { upstream, seen, clock, directory, attribute }
}

function itemsOf(ids: readonly (number | null)[]) {
  const texts = ids.map((publisher_id, n) => listingText({ listing_id: `l${n}`, publisher_id }))
  const options = { kind: 'registry', scanner: scannerOf(listingQuery()), offset: 0 } as const
  return new ListingPage(Buffer.from(envelopeText(texts, texts.length)), options).items
}

test('the address of each publisher is looked up once, with the key', async (t) => {
  const { attribute, seen } = open(t, entries(2))
  for (let n = 0; n < 2; n++)
    t.deepEqual(await attribute(1, 2, 1, null), [address(1), address(2), address(1), null])
  t.is(seen.length, 1)
  t.is(seen[0]?.url.search, '?limit=200&offset=0')
  t.is(seen[0]?.headers.authorization, 'Bearer secret')
})

test('an address is lower-cased, and any other text is not an address', async (t) => {
  const { attribute } = open(t, [
    entry(1, `0x${'AB'.repeat(20)}`),
    entry(2, '0x12'),
    entry(3, 'javascript:alert(1)'),
    entry('4'),
    7 as never,
  ])
  t.deepEqual(await attribute(1, 2, 3, 4), [`0x${'ab'.repeat(20)}`, null, null, null])
})

test('a new publisher is found on the first page, an old one as far back as it is', async (t) => {
  const { attribute, seen, clock, upstream } = open(t, entries(401))
  t.deepEqual(await attribute(1), [address(1)])
  t.is(seen.length, 3)
  clock.advance(SEARCH_PAUSE_MS)
  upstream.publishers = entries(402)
  t.deepEqual(await attribute(402, 1), [address(402), address(1)])
  t.is(seen.length, 4)
})

test('a search that is running goes on to the publishers of a later reader', async (t) => {
  const { attribute, seen } = open(t, entries(401))
  t.deepEqual(await Promise.all([attribute(401), attribute(1)]), [[address(401)], [address(1)]])
  t.is(seen.length, 3)
})

test('an endless list is read only so far', async (t) => {
  const { attribute, seen } = open(
    t,
    Array.from({ length: 20_000 }, (_, n) => entry(n + 10)),
  )
  t.deepEqual(await attribute(1), [null])
  t.is(seen.length, 50)
})

test('a publisher that was not found is not searched again for a while', async (t) => {
  const { attribute, seen, clock, upstream } = open(t, entries(2))
  t.deepEqual(await attribute(7), [null])
  clock.advance(SEARCH_AGAIN_MS - 1)
  t.deepEqual(await attribute(7), [null])
  t.is(seen.length, 1)
  upstream.publishers = entries(7)
  clock.advance(1)
  await attribute(7)
  await eventually(() => seen.length === 2)
  t.deepEqual(await attribute(7), [address(7)])
})

test('publishers of a Registry with a new database are searched again, without a wait', async (t) => {
  const { attribute, directory, seen, clock, upstream } = open(t, [entry(1)])
  await attribute(1)
  upstream.publishers = [entry(1, address(99))]
  clock.advance(PUBLISHER_FRESH_MS)
  t.deepEqual(await attribute(1), [address(1)])
  await eventually(() => seen.length === 2)
  while ((await attribute(1))[0] !== address(99)) t.true(seen.length === 2)
  t.is(directory.storefrontOf(address(1)), undefined)
})

test('without a list of publishers listings have none, and requests are seldom', async (t) => {
  const { attribute, seen, clock, upstream } = open(t, null)
  t.deepEqual(await attribute(1), [null])
  t.deepEqual(await attribute(1), [null])
  t.is(seen.length, 1)
  upstream.publishers = entries(1)
  clock.advance(SEARCH_RETRY_MS)
  await attribute(1)
  await eventually(() => seen.length === 2)
  while ((await attribute(1))[0] !== address(1)) t.true(seen.length === 2)
})

test('a Registry with ever new publishers is searched once a second', async (t) => {
  const { attribute, seen, clock } = open(t, [])
  for (let id = 1; id < 10; id++) await attribute(id)
  t.is(seen.length, 1)
  clock.advance(SEARCH_PAUSE_MS)
  await attribute(10)
  t.is(seen.length, 2)
})

test('listings wait for unknown publishers for half a second', async (t) => {
  const clock = manualClock()
  const directory = new PublisherDirectory(() => new Promise(() => {}), clock)
  const items = itemsOf([1])
  const attributed = directory.attribute(items)
  clock.advance(PUBLISHERS_WAIT_MS)
  t.false(await attributed)
  t.is(items[0]?.publisher, null)
})

test('the storefront of an address is known where the Registry has it', async (t) => {
  const { attribute, directory } = open(t, [
    entry(1, address(1), { storefront_url: 'http://a' }),
    entry(2, address(2), { storefront_url: null }),
  ])
  await attribute(1)
  t.deepEqual(
    [1, 2, 3].map((id) => directory.storefrontOf(address(id))),
    ['http://a', null, undefined],
  )
})
