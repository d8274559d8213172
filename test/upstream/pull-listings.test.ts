import test from 'ava'
import fc from 'fast-check'
import { SourceError } from '../../src/domain/source-error.ts'
import type { FetchListings } from '../../src/upstream/fetch-listings.ts'
import { type ListingPage, parseListingPage } from '../../src/upstream/listing-page.ts'
import { OVERLAP, type Pull, pullListings } from '../../src/upstream/pull-listings.ts'
import { envelopeText, listingText, listingTexts } from '../helpers/fake-registry.ts'

const UPSTREAM = { name: 'elsewhere', kind: 'registry', maxListings: 10_000 } as const

/** Answers as a Registry that holds `items`; `before` is called ahead of every request but the first. */
const serving = (items: string[], { pageSize = 200, before = () => {} } = {}) => {
  const offsets: number[] = []
  const fetch: FetchListings = async (_query, offset) => {
    if (offsets.length > 0) before()
    offsets.push(offset)
    return pageOf(items.slice(offset, offset + pageSize), items.length)
  }
  return { fetch, offsets }
}

const pageOf = (items: readonly string[], total: number): ListingPage =>
  parseListingPage(Buffer.from(envelopeText(items, total)))

const pull = (
  fetch: FetchListings,
  upstream: Partial<Parameters<typeof pullListings>[0]> = {},
): Promise<Pull> => pullListings({ ...UPSTREAM, ...upstream }, fetch, new AbortController().signal)

const idsOf = (pulled: Pull): string[] => (pulled.kind === 'whole' ? [...pulled.listings.keys()].sort() : [])
const idOf = (text: string): string => JSON.parse(text).listing_id

test('all listings are read, whatever the size of the pages', async (t) => {
  const items = listingTexts('a', 1234)
  for (const pageSize of [200, 100, 25]) {
    const { fetch } = serving(items, { pageSize })
    t.deepEqual(idsOf(await pull(fetch)), items.map(idOf), String(pageSize))
  }
})

test('nothing is an answer too', async (t) => {
  t.deepEqual(idsOf(await pull(serving([]).fetch)), [])
})

test('whatever comes and goes meanwhile, what was there all the time is there, and nothing that never was', async (t) => {
  const change = fc.record({ at: fc.nat(999), gone: fc.nat(40), come: fc.nat(14) })
  await fc.assert(
    fc.asyncProperty(
      fc.array(change, { maxLength: 6 }),
      fc.constantFrom(25, 60),
      async (changes, pageSize) => {
        const items = listingTexts('a', 400)
        const ever = new Set(items.map(idOf))
        let always = [...ever]
        let made = 0
        const before = () => {
          const next = changes.shift()
          if (next === undefined) return
          const gone = new Set(items.splice(Math.floor((next.at / 1000) * items.length), next.gone).map(idOf))
          always = always.filter((id) => !gone.has(id))
          const fresh = Array.from({ length: next.come }, () =>
            listingText({
              listing_id: `new-${made}`,
              created_at: new Date(Date.UTC(2027, 0, 1) + made++).toISOString(),
            }),
          )
          items.unshift(...fresh.reverse())
          for (const item of fresh) ever.add(idOf(item))
        }
        const { fetch, offsets } = serving(items, { pageSize, before })
        const ids = new Set(idsOf(await pull(fetch)))
        t.deepEqual(
          always.filter((id) => !ids.has(id)),
          [],
        )
        t.true([...ids].every((id) => ever.has(id)))
        t.true(offsets.length <= 100)
      },
    ),
    { numRuns: 60, includeErrorInReport: true },
  )
})

test('a few listings that go between two pages cost no request more', async (t) => {
  const items = listingTexts('a', 1000)
  const quiet = serving([...items])
  await pull(quiet.fetch)
  const busy = serving(items, { before: () => items.splice(0, OVERLAP - 1) })
  await pull(busy.fetch)
  t.true(busy.offsets.length <= quiet.offsets.length)
})

test('what comes by twice is taken as it was last', async (t) => {
  const items = listingTexts('a', 300)
  const moved = items[195]!.replace('H100', 'A100')
  const { fetch } = serving(items, { before: () => items.splice(195, 1, moved) })
  const pulled = await pull(fetch)
  t.is(pulled.kind === 'whole' && Buffer.from(pulled.listings.get('a-0195')!.bytes).toString(), moved)
})

test('only what is open is held, though the upstream should send more', async (t) => {
  const items = listingTexts('a', 250).map((text, n) => (n < 220 ? text.replace('"open"', '"closed"') : text))
  t.is(idsOf(await pull(serving(items).fetch)).length, 30)
})

test('bad items are counted once and hide nothing behind them', async (t) => {
  const items = listingTexts('a', 500).map((text, n) => (n >= 150 && n < 250 ? '{}' : text))
  const pulled = await pull(serving(items).fetch)
  t.is(idsOf(pulled).length, 400)
  t.is(pulled.kind === 'whole' && pulled.invalid, 100)
})

test('two publishers behind a gateway may use one id', async (t) => {
  const items = [1, 2].map((publisher_id) => listingText({ publisher_id }))
  t.is(idsOf(await pull(serving(items).fetch, { kind: 'gateway' })).length, 2)
  t.is(idsOf(await pull(serving(items).fetch)).length, 1)
})

test('more than max_listings is told after one request, also where that shows later', async (t) => {
  const { fetch, offsets } = serving(listingTexts('a', 500))
  t.deepEqual(await pull(fetch, { maxListings: 499 }), { kind: 'too_many', total: 500 })
  t.is(offsets.length, 1)
  const items = listingTexts('a', 500)
  const growing = serving(items, { before: () => items.unshift(listingText({ listing_id: 'new' })) })
  t.deepEqual(await pull(growing.fetch, { maxListings: 500 }), { kind: 'too_many', total: 501 })
})

const BROKEN: readonly (readonly [name: string, page: (offset: number, request: number) => ListingPage])[] = [
  ['pages that repeat', () => pageOf(listingTexts('a', 200), 900)],
  ['pages of nothing', () => pageOf([], 900)],
  ['pages too small', () => pageOf(listingTexts('a', OVERLAP), 900)],
  ['pages that never join', (_offset, request) => pageOf(listingTexts(`p${request}`, 200), 900)],
  ['a total that recedes', (offset) => pageOf(listingTexts(`p${offset}`, 25), offset + 100)],
]

for (const [name, page] of BROKEN) {
  test(`${name} end the pull`, async (t) => {
    let requests = 0
    const error = await t.throwsAsync(
      pull(async (_query, offset) => page(offset, requests++)),
      { instanceOf: SourceError },
    )
    t.is(error instanceof SourceError && error.reason, 'bad_envelope')
    t.true(requests < 200)
  })
}

test('a page that cannot be had ends the pull with its reason', async (t) => {
  const late = new SourceError('timeout', 'late')
  const { fetch } = serving(listingTexts('a', 500))
  const failing: FetchListings = async (query, offset, signal) => {
    if (offset > 0) throw late
    return fetch(query, offset, signal)
  }
  t.is(await t.throwsAsync(pull(failing)), late)
})
