import { setImmediate } from 'node:timers/promises'
import test, { type ExecutionContext } from 'ava'
import { createGet, type Get } from '../../../src/upstream/http/request.ts'
import { composeRequests } from '../../../src/upstream/interceptors/compose.ts'
import { conditionsOf, ListingPage } from '../../../src/upstream/page/listing-page.ts'
import {
  MAX_SEARCH_MS,
  PUBLISHER_FRESH_MS,
  PUBLISHERS_WAIT_MS,
  PublisherDirectory,
} from '../../../src/upstream/publisher-directory.ts'
import { eventually } from '../../helpers/eventually.ts'
import { envelopeText, listingText } from '../../helpers/fake-registry.ts'
import { manualClock } from '../../helpers/manual-clock.ts'
import { scriptAnswers } from '../../helpers/scripted-answers.ts'
import { upstreamOptions, upstreamQuery } from '../../helpers/upstream.ts'

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
  const get = createGet(upstreamOptions({ url, key: 'secret' }), composeRequests(agent))
  const directory = new PublisherDirectory(get, clock)
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
  const options = { kind: 'registry', conditions: conditionsOf(upstreamQuery()), offset: 0 } as const
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
    entry(2, address(2), { storefront_url: null }),
    entry(3, '0x12'),
    entry(4, 'javascript:alert(1)'),
    entry('5'),
    7 as never,
  ])
  const lower = `0x${'ab'.repeat(20)}`
  t.deepEqual(await attribute(1, 2, 3, 4, 5), [lower, address(2), null, null, null])
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

for (const [what, publishers, ms] of [
  ['was not found', entries(2), SEARCH_AGAIN_MS],
  ['is of a Registry without a list', null, SEARCH_RETRY_MS],
] as const)
  test(`a publisher that ${what} is searched again after ${ms / 1000} s`, async (t) => {
    const { attribute, seen, clock, upstream } = open(t, publishers)
    t.deepEqual(await attribute(7), [null])
    clock.advance(ms - 1)
    t.deepEqual(await attribute(7), [null])
    t.is(seen.length, 1)
    upstream.publishers = entries(7)
    clock.advance(1)
    await eventually(
      'found',
      async () => (await attribute(7))[0],
      (found) => found === address(7),
    )
    t.is(seen.length, 2)
  })

test('publishers of a Registry with a new database are searched again, without a wait', async (t) => {
  const { attribute, seen, clock, upstream } = open(t, [entry(1)])
  await attribute(1)
  upstream.publishers = [entry(1, address(99))]
  clock.advance(PUBLISHER_FRESH_MS)
  t.deepEqual(await attribute(1), [address(1)])
  await eventually('searched again', () => seen.length === 2)
  await eventually(
    'found',
    async () => (await attribute(1))[0],
    (found) => found === address(99),
  )
  t.is(seen.length, 2)
})

test('a Registry with ever new publishers is searched once a second', async (t) => {
  const { attribute, seen, clock } = open(t, [])
  for (let id = 1; id < 10; id++) await attribute(id)
  t.is(seen.length, 1)
  clock.advance(SEARCH_PAUSE_MS)
  await attribute(10)
  await eventually('searched again', () => seen.length === 2)
})

/** A directory whose pages are answered when the test says so. */
function openHeld() {
  const clock = manualClock()
  const pages: PromiseWithResolvers<object[]>[] = []
  const get: Get = async () => {
    const page = Promise.withResolvers<object[]>()
    pages.push(page)
    return { status: 200, headers: {}, body: Buffer.from(JSON.stringify({ items: await page.promise })) }
  }
  const directory = new PublisherDirectory(get, clock)
  /** Whether the answer is `true`, or `waits`. */
  const ask = (id: number): Promise<boolean | 'waits'> =>
    Promise.race([directory.attribute(itemsOf([id])), setImmediate('waits' as const)])
  return { directory, clock, pages, ask }
}

test('listings wait for a search for half a second from its start, and are kept when it has ended', async (t) => {
  const { directory, clock, pages, ask } = openHeld()
  const attributed = directory.attribute(itemsOf([1]))
  clock.advance(PUBLISHERS_WAIT_MS)
  t.false(await attributed)
  for (const id of [1, 2]) t.false(await ask(id))
  pages[0]!.resolve([])
  await directory.search
  t.true(await ask(1))
  clock.advance(SEARCH_PAUSE_MS)
  t.is(await ask(3), 'waits')
})

test('a search that goes on for ever fails, and neither delays listings nor keeps them from being kept', async (t) => {
  const { directory, clock, pages, ask } = openHeld()
  void directory.attribute(itemsOf([1]))
  for (let ms = 0; ms < MAX_SEARCH_MS; ms += 1000) {
    clock.advance(1000)
    pages.at(-1)!.resolve(Array.from({ length: 200 }, (_, n) => entry(ms + n + 1000)))
    await setImmediate()
  }
  t.is(directory.search, null)
  t.is(pages.length, MAX_SEARCH_MS / 1000)
  for (const id of [1, 2]) t.true(await ask(id))
  clock.advance(SEARCH_RETRY_MS)
  t.true(await ask(1))
  t.not(directory.search, null)
  t.true(await ask(3))
  const items = itemsOf([4])
  await directory.attributeAll(items)
  t.is(items[0]!.publisher, null, 'a pull does not wait either')
})
