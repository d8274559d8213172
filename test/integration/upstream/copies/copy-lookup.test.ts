import test, { type ExecutionContext } from 'ava'
import type { CopyQuery, SoughtListing } from '../../../../src/domain/source/held.ts'
import { type FakeOptions, listingText, listingTexts } from '../../../helpers/fake-registry.ts'
import { filterOf, specBody } from '../../../helpers/specs.ts'
import {
  failureOf,
  openUpstream,
  PAST_DELETE,
  PAST_FRESH,
  type TestUpstreamOptions,
} from '../../../helpers/upstream.ts'

const ALICE = `0x${'a'.repeat(40)}`
const BOB = `0x${'b'.repeat(40)}`
const CAROL = `0x${'c'.repeat(40)}`
const STOREFRONT = 'http://storefront.example/'
const PUBLISHERS = [
  [2, BOB],
  [1, ALICE],
] as const

function sought(listingId: string, publisher: string | null = ALICE): SoughtListing {
  return { listingId, publisher, storefrontUrl: STOREFRONT }
}

/** Of `publisher`, in the form of a Registry that applies it. */
function matches(listing: Record<string, unknown>, parameters: URLSearchParams): boolean {
  const publisher = parameters.get('publisher')
  const isTheirs =
    publisher === null || PUBLISHERS.some(([id, of]) => of === publisher && listing.publisher_id === id)
  return isTheirs && (parameters.get('status') === '' || listing.status === parameters.get('status'))
}

async function openLookup(t: ExecutionContext, fakeOptions: FakeOptions, options: TestUpstreamOptions = {}) {
  const opened = await openUpstream(t, { publishers: PUBLISHERS, matches, ...fakeOptions }, options)
  await opened.ready
  const { signal } = new AbortController()
  const { fake, source } = opened
  /** What was found: its id, or `null` or `undefined`. */
  const lookUp = async (
    listings: readonly SoughtListing[],
    query: Partial<CopyQuery> = {},
    until: AbortSignal = signal,
  ) => {
    const found = await source.lookUp!(listings, { status: 'open', ...query }, until)
    return found.map((item) => item?.listingId ?? (item as null | undefined))
  }
  /** Requests since the last call: for publishers, pages and single listings. */
  let before = { publishers: 0, listings: 0 }
  const requests = () => {
    const seen = fake.requests.slice(before.listings)
    const single = seen.filter(({ path }) => path.startsWith('/listings/')).length
    const publishers = fake.publisherRequests.length - before.publishers
    before = { publishers: fake.publisherRequests.length, listings: fake.requests.length }
    return [publishers, seen.length - single, single]
  }
  return { ...opened, lookUp, requests, signal }
}

test('lookup: the listings of a known publisher are read once while fresh, and what they lack is absent', async (t) => {
  const items = [
    ...listingTexts('a', 3),
    listingText({ listing_id: 'closed', status: 'closed' }),
    listingText({ listing_id: 'other', publisher_id: 2 }),
  ]
  const { lookUp, requests, source, clock, signal } = await openLookup(t, { items })
  const wanted = [sought('a-0002'), sought('none'), sought('closed'), sought('other'), sought('a-0002')]
  t.deepEqual(await lookUp(wanted), ['a-0002', null, null, null, 'a-0002'])
  t.deepEqual(requests(), [1, 1, 0])
  t.deepEqual(await lookUp([sought('a-0001'), ...wanted]), ['a-0001', 'a-0002', null, null, null, 'a-0002'])
  t.deepEqual(requests(), [0, 0, 0])
  t.deepEqual(await lookUp([sought('closed'), sought('a-0001')], { status: 'closed' }), ['closed', null])
  t.deepEqual(await lookUp([sought('closed'), sought('a-0001')], { status: null }), ['closed', 'a-0001'])
  t.deepEqual(requests(), [0, 2, 0])
  const [item] = await source.lookUp!([sought('a-0001')], { status: 'open' }, signal)
  t.like(item, { publisher: ALICE, storefrontUrl: STOREFRONT })
  clock.advance(PAST_FRESH)
  t.deepEqual(await lookUp([sought('a-0001')], { caching: 'no-cache' }), ['a-0001'])
  t.deepEqual(requests(), [0, 1, 0])
  t.deepEqual(await lookUp([]), [])
})

test('lookup: of a publisher that the directory does not have no listing is requested', async (t) => {
  const { lookUp, requests, fake, clock } = await openLookup(t, { items: listingTexts('a', 1) })
  for (const n of [1, 0]) {
    t.deepEqual(await lookUp([sought('a-0000', CAROL), sought('a-0001', CAROL)]), [null, null])
    t.deepEqual(requests(), [n, 0, 0])
  }
  t.is(fake.publisherRequests[0]?.parameters.get('identifier'), CAROL)
  fake.publishers = [[3, CAROL], ...PUBLISHERS]
  fake.items = [listingText({ listing_id: 'a-0000', publisher_id: 3 })]
  clock.advance(PAST_FRESH)
  t.deepEqual(await lookUp([sought('other', CAROL)]), [null])
  t.deepEqual(requests(), [1, 1, 0])
})

test('lookup: a directory that ignores identifier says no with its whole list only', async (t) => {
  const publishers = Array.from(
    { length: 201 },
    (_, n) => [n + 1, `0x${String(n).padStart(40, '0')}`] as const,
  )
  const { lookUp, requests, fake } = await openLookup(t, { publishers, ignoresIdentifier: true })
  t.deepEqual(await lookUp([sought('a')]), [null])
  t.deepEqual(requests(), [2, 1, 0])
  fake.publishers = publishers.slice(0, 100)
  t.deepEqual(await lookUp([sought('a', BOB)]), [null])
  t.deepEqual(requests(), [2, 0, 0])
})

test('lookup: without a directory no copy has a known address, and one of an unknown address is looked up by id', async (t) => {
  const { lookUp, requests } = await openLookup(t, { items: listingTexts('a', 1), publishers: null })
  t.deepEqual(await lookUp([sought('a-0000'), sought('a-0000', BOB)]), [null, null])
  t.deepEqual(await lookUp([sought('a-0000', CAROL)]), [null])
  t.deepEqual(requests().slice(1), [0, 0])
  const elsewhere = { ...sought('a-0000', null), storefrontUrl: 'http://elsewhere.example/' }
  const nowhere = { ...sought('a-0000', null), storefrontUrl: null }
  t.deepEqual(await lookUp([sought('a-0000', null), elsewhere, nowhere]), ['a-0000', null, null])
  t.deepEqual(requests().slice(1), [0, 1])
})

test('lookup: beyond 200 listings of a publisher single ids are requested, at most 50 a call', async (t) => {
  const items = [...listingTexts('a', 300), listingText({ listing_id: 'closed', status: 'closed' })]
  const { lookUp, requests, fake } = await openLookup(t, { items })
  t.deepEqual(await lookUp([sought('a-0100'), sought('none'), sought('closed'), sought('a-0250')]), [
    'a-0100',
    null,
    null,
    'a-0250',
  ])
  t.deepEqual(requests(), [1, 1, 3])
  const ids = Array.from({ length: 60 }, (_, n) => `a-0${n + 230}`)
  const first = await lookUp(ids.map((id) => sought(id)))
  t.is(first.filter((id) => id === undefined).length, 9)
  t.deepEqual(requests(), [0, 0, 50])
  t.deepEqual(await lookUp(ids.map((id) => sought(id))), ids)
  t.deepEqual(requests(), [0, 0, 9])
  t.true(fake.mostInFlight() <= 8)
})

test('lookup: the single ids of one source are bounded, and more may be requested later', async (t) => {
  const { lookUp, read, requests, fake, clock } = await openLookup(t, {})
  fake.script = [{ kind: 'status', status: 429, headers: { 'retry-after': '1' } }, { kind: 'serve' }]
  await failureOf(t, read())
  // The Registry is not requested meanwhile, but the lookups count.
  const ids = Array.from({ length: 50 }, (_, n) => sought(`id-${n}`, null))
  for (let n = 0; n < 2000; n += 50) await lookUp(ids)
  requests()
  clock.advance(1000)
  t.deepEqual(new Set(await lookUp(ids)), new Set([null]))
  t.deepEqual(requests(), [0, 0, 50])
  t.deepEqual(await lookUp([sought('other', null), sought('id-7', null)]), [undefined, null])
  t.deepEqual(requests(), [0, 0, 0])
  clock.advance(1000)
  t.deepEqual(await lookUp([sought('other', null)]), [null])
})

test('lookup: what fails is not known, and a cached answer outlives the failure', async (t) => {
  const { lookUp, fake, clock, requests } = await openLookup(t, { items: listingTexts('a', 1) })
  const all = [sought('a-0000'), sought('a-0000', null)]
  fake.publisherScript = { kind: 'status', status: 500 }
  t.deepEqual(await lookUp([sought('a-0000'), sought('a-0000', BOB)]), [undefined, undefined])
  t.is(requests()[1], 0)
  fake.publisherScript = { kind: 'serve' }
  clock.advance(10_000)
  fake.script = [{ kind: 'status', status: 503 }]
  fake.listingScript = { kind: 'status', status: 503 }
  t.deepEqual(await lookUp(all), [undefined, undefined])
  fake.script = [{ kind: 'serve' }]
  fake.listingScript = { kind: 'serve' }
  t.deepEqual(await lookUp(all), ['a-0000', null])
  fake.script = [{ kind: 'status', status: 503 }]
  clock.advance(PAST_FRESH)
  t.deepEqual((await lookUp(all))[0], 'a-0000')
  clock.advance(PAST_DELETE)
  t.deepEqual((await lookUp(all))[0], undefined)
})

test('lookup: a signal that aborts, an open circuit breaker and another schema leave all unknown', async (t) => {
  const { lookUp, fake, requests } = await openLookup(t, { items: listingTexts('a', 1) })
  const all = [sought('a-0000'), sought('a-0000', null)]
  t.deepEqual(await lookUp(all, {}, AbortSignal.abort()), [undefined, undefined])
  t.deepEqual(requests(), [0, 0, 0])
  fake.script = [{ kind: 'hang' }]
  fake.listingScript = { kind: 'hang' }
  const leaving = new AbortController()
  const pending = lookUp(all, {}, leaving.signal)
  await fake.requested(2)
  leaving.abort()
  t.deepEqual(await pending, [undefined, undefined])

  const paused = await openLookup(t, {
    script: [{ kind: 'status', status: 429, headers: { 'retry-after': '60' } }],
  })
  t.is((await failureOf(t, paused.read())).reason, 'rate_limited')
  t.truthy(paused.status().breaker.suspended)
  paused.requests()
  t.deepEqual(await paused.lookUp([...all, sought('b', CAROL)]), [undefined, undefined, undefined])
  t.deepEqual(paused.requests(), [0, 0, 0])

  const filterSpec = specBody('one', [filterOf('gpu_model')], 'vms.other')
  const other = await openLookup(t, { filterSpec }, { parts: { schema: 'vms.compute' } })
  t.deepEqual(await other.lookUp(all), [undefined, undefined])
  t.deepEqual(other.requests(), [0, 0, 0])
})

test('lookup: a gateway is asked for every publisher, and names the publisher of its items itself', async (t) => {
  const item = (listing_id: string, publisher: string) =>
    listingText({ listing_id, _meta: { registry: 'r', publisher } })
  const ofPublisher = (listing: Record<string, unknown>, parameters: URLSearchParams) =>
    [null, (listing._meta as { publisher: string }).publisher].includes(parameters.get('publisher'))
  const { lookUp, requests, fake } = await openLookup(t, {
    kind: 'gateway',
    items: [item('a', ALICE), item('b', BOB)],
    matches: ofPublisher,
  })
  t.deepEqual(await lookUp([sought('a'), sought('b'), sought('c', CAROL)]), ['a', null, null])
  t.deepEqual(requests(), [0, 2, 0])
  fake.envelope = { complete: false, sources: [{ registry: 'r', state: 'unavailable', reason: 'timeout' }] }
  fake.listingScript = { kind: 'status', status: 503 }
  t.deepEqual(await lookUp([sought('a'), sought('c', CAROL)], { caching: 'no-cache' }), ['a', undefined])
})
