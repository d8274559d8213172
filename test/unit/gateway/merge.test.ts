import test from 'ava'
import type { Reading } from '../../../src/domain/source/reading.ts'
import { endOfMs } from '../../../src/domain/timestamp.ts'
import { renderMerged } from '../../../src/gateway/envelope.ts'
import { type FakeSource, fakeItem, fakeSource } from '../../helpers/fake-source.ts'
import { manualClock } from '../../helpers/manual-clock.ts'
import { gatewayOver, idsOfPage, keyOf, metaOf, readByCursor } from '../../helpers/pages.ts'
import { idsOf } from '../../helpers/upstream.ts'

/** The last microsecond that is not in the future. */
const NOW = endOfMs(manualClock().now())
/** Some instant of the past. */
const AT = NOW - 1e9

/** Sources `s1`, `s2` … of these priorities, whole, with one copy each. */
function holding(...copies: readonly (Parameters<typeof fakeItem>[2] & { at?: number })[]): FakeSource[] {
  return copies.map(({ at = AT, ...fields }, n) =>
    fakeSource(`s${n + 1}`, [fakeItem('a', at, fields)], { priority: n + 1 }),
  )
}

async function shownOf(sources: readonly FakeSource[]) {
  const { items, total } = await gatewayOver(sources).page()
  return { items, total, metas: items.map(metaOf) }
}

test('newest first, then by priority, then in the order of the configuration, then by id', async (t) => {
  const items = ['b', 'a'].map((id) => fakeItem(id, AT))
  const sources = [
    fakeSource('z', [fakeItem('e', AT)], { priority: 2 }),
    fakeSource('x', [fakeItem('d', AT)], { priority: 2 }),
    fakeSource('y', [...items, fakeItem('c', AT + 1)], { priority: 1 }),
  ]
  t.deepEqual(idsOfPage(await gatewayOver(sources).page()), ['c', 'a', 'b', 'e', 'd'])
  t.deepEqual(idsOfPage(await gatewayOver(sources.toReversed()).page()), ['c', 'a', 'b', 'd', 'e'])
})

test('a listing is shown by the best source, at the place of its own date, and names the others', async (t) => {
  const sources = [
    ...holding({ at: AT }, { at: AT + 5000 }, { at: AT + 9000, offer: { price: 1 } }),
    fakeSource('other', [fakeItem('later', AT + 1), fakeItem('earlier', AT - 1)]),
  ]
  const { items, metas, total } = await shownOf(sources)
  t.deepEqual(
    items.map(({ item }) => [item.listingId, item.createdAt]),
    [
      ['later', AT + 1],
      ['a', AT],
      ['earlier', AT - 1],
    ],
  )
  t.is(total, 3)
  t.deepEqual(metas[1], { registry: 's1', also_in: ['s2', 's3'], stale: false, differs: true })
})

test('a closed listing of the own Registry hides open copies, and is not named by them', async (t) => {
  const closed = fakeItem('a', AT, { publisher: '0x1', status: 'closed' })
  for (const [priority, expected] of [
    [0, []],
    [2, [{ registry: 'up', publisher: '0x1', also_in: [], stale: false }]],
  ] as const) {
    const own = fakeSource('local', [closed], { mode: 'local', priority })
    const up = fakeSource('up', [fakeItem('a', AT + 1, { publisher: '0x1' })], { priority: 1 })
    t.deepEqual((await shownOf([own, up])).metas, expected)
  }
})

test('a copy that better sources may have is shown as unchecked, and counted', async (t) => {
  const copy = () => [fakeItem('a', AT, { publisher: '0x1' })]
  const loading = fakeSource('loading', copy(), { coverage: 'loading', priority: 0 })
  const away = fakeSource('away', [], { failure: 'dns', priority: 1 })
  const worse = fakeSource('worse', copy(), { priority: 2 })
  t.deepEqual((await shownOf([loading, worse])).metas[0], {
    registry: 'loading',
    publisher: '0x1',
    also_in: ['worse'],
    stale: false,
  })
  loading.change((items) => items.pop())
  const page = await gatewayOver([loading, away, worse]).page()
  t.deepEqual(metaOf(page.items[0])?.unchecked, ['loading', 'away'])
  t.like(JSON.parse(renderMerged(page).body.toString()), {
    complete: false,
    unchecked: 1,
    sources: [{ state: 'loading' }, { state: 'unavailable' }, { registry: 'worse' }],
  })
  const lines = await gatewayOver([loading, away, worse]).lines()
  t.like(lines.at(-1)?._meta, { unchecked: 1 })
})

test('a source that refuses the key or a question: the first may have a copy, the second decides nothing', async (t) => {
  const worse = fakeSource('worse', [fakeItem('a', AT)], { priority: 2 })
  for (const [failure, unchecked] of [
    ['unauthorized', ['better']],
    ['schema_mismatch', undefined],
    ['loop', undefined],
  ] as const) {
    const better = fakeSource('better', [fakeItem('a', AT)], { failure })
    t.deepEqual((await shownOf([better, worse])).metas[0]?.unchecked, unchecked, failure)
  }
})

test('a copy shown as unchecked does not come again in its stream, by a better copy that arrives', async (t) => {
  const fill = Array.from({ length: 300 }, (_, n) => fakeItem(`x${n}`, AT - n - 1))
  const loading = fakeSource('loading', fill, { coverage: 'loading' })
  const worse = fakeSource('worse', [fakeItem('a', AT)], { priority: 2 })
  let chunks = 0
  const lines = await gatewayOver([loading, worse]).lines({}, () => {
    if (++chunks === 1) loading.change((items) => items.push(fakeItem('a', AT - 1000)))
  })
  const ids = lines.slice(0, -1).map(({ listing_id }) => listing_id)
  t.is(ids.length, 301)
  t.is(ids.filter((id) => id === 'a').length, 1)
})

test('a better source that is held whole, knows the publisher and lacks the listing, is named', async (t) => {
  const items = [fakeItem('a', AT, { publisher: '0x1' }), fakeItem('b', AT - 1, { publisher: '0x2' })]
  const worse = fakeSource('worse', items, { priority: 3 })
  for (const [coverage, notIn] of [
    ['whole', ['better']],
    ['loading', undefined],
  ] as const) {
    const storefrontOf = (publisher: string) =>
      publisher === '0x1' ? 'http://storefront.example/' : undefined
    const better = fakeSource('better', [], { coverage, storefrontOf })
    const { metas } = await shownOf([better, worse])
    t.deepEqual(
      metas.map((meta) => meta?.not_in),
      [notIn, undefined],
      coverage,
    )
  }
})

/** How often copies of an id are read of sources, for 1,000 copies of it in one gateway and some elsewhere. */
test('1,000 copies of one id in a gateway are decided about in few reads of them', async (t) => {
  let reads = 0
  const namesakes = Array.from({ length: 1000 }, (_, n) => {
    const item = fakeItem('same', AT - n, { storefrontUrl: `http://s${n}` })
    return Object.defineProperty(item, 'publisher', {
      enumerable: true,
      get: () => {
        reads++
        return `0x${n}`
      },
    })
  })
  const gateway = fakeSource('gateway', namesakes, { isGateway: true })
  const copies = Array.from({ length: 20 }, (_, n) => fakeItem('same', AT + n, { publisher: `0x${n * 7}` }))
  for (const priority of [0, 2]) {
    const other = fakeSource('other', copies, { isGateway: true, priority })
    reads = 0
    const { total } = await gatewayOver([gateway, other]).page({ limit: 200 })
    t.is(total, namesakes.length)
    t.true(reads < 40 * namesakes.length, `${reads}`)
    reads = 0
    t.is((await gatewayOver([gateway, other]).lines()).length, namesakes.length + 1)
    t.true(reads < 100 * namesakes.length, `stream ${reads}`)
    reads = 0
    await gatewayOver([gateway, other]).page({}, { byPrice: { tokens: null, per: 'gpu' } })
    t.true(reads < 40 * namesakes.length, `by price ${reads}`)
  }
})

test('copies are one listing by publisher, and by storefront where a publisher is not known', async (t) => {
  const known = { publisher: '0x1', storefrontUrl: 'http://s' }
  for (const [one, other, count] of [
    [known, { ...known, storefrontUrl: 'http://moved' }, 1],
    [known, { ...known, publisher: '0x2' }, 2],
    [known, { ...known, publisher: null }, 2],
    [{ publisher: null, storefrontUrl: 'http://s' }, { publisher: null, storefrontUrl: 'http://s' }, 1],
    [known, { publisher: null, storefrontUrl: 'http://t' }, 2],
    [{ storefrontUrl: null }, { storefrontUrl: null }, 2],
  ] as const) {
    const { metas, total } = await shownOf(holding(one, other))
    t.deepEqual([metas.length, total], [count, count])
    t.true(metas.every((meta) => (meta?.conflict === true) === count > 1))
  }
})

test('a copy of an unknown publisher does not make one listing of two publishers', async (t) => {
  const copies = holding({ publisher: null }, { publisher: '0x1' }, { publisher: '0x2' })
  const { metas } = await shownOf(copies)
  t.deepEqual(
    metas.map((meta) => [meta?.registry, meta?.also_in, meta?.conflict]),
    [
      ['s1', [], true],
      ['s2', [], true],
      ['s3', [], true],
    ],
  )
})

test('several listings of one id and one instant in a gateway are in a walk, and in a stream', async (t) => {
  const origin = { registry: 'x', alsoIn: [], stale: false, differs: false }
  const itemOf = (id: string, at: number, publisher: string) => fakeItem(id, at, { publisher, origin })
  const others = Array.from({ length: 400 }, (_, n) => itemOf(`l${n}`, AT - n, '0x1'))
  const twins = ['0x2', '0x3'].flatMap((publisher) => [
    itemOf('l1', AT - 1, publisher),
    itemOf('l186', AT - 186, publisher),
  ])
  const items = [...others, ...twins]
  const expected = items.map(keyOf).sort()
  const open = () => [fakeSource('eu', items, { isGateway: true })]
  for (const size of [1, 2, 3, 190])
    t.deepEqual((await readByCursor(open, [size])).map(keyOf).sort(), expected, String(size))
  t.is((await gatewayOver(open()).lines()).length, items.length + 1)
})

test('a walk shows the next listing of an id where the one before it is gone', async (t) => {
  const itemOf = (at: number, publisher: string) => fakeItem('same', at, { publisher })
  const eu = fakeSource('eu', [itemOf(AT, '0x1'), itemOf(AT - 1, '0x2')], { isGateway: true })
  const between = (): void => eu.change((items) => items.splice(0, 1))
  t.deepEqual((await readByCursor([eu], [1], { between })).map(keyOf), ['same 0x1', 'same 0x2'])
})

test('copies differ by the value of offers and escrows, not by their spelling', async (t) => {
  const plain = '{"listing_id":"a","offer_resource":{"sla":99.0,"n":1},"accepted_escrows":[]}'
  for (const [other, differs] of [
    [plain, undefined],
    ['{"accepted_escrows": [], "offer_resource":{"n":1,"sla":99}, "publisher_id":7}', undefined],
    [plain.replace('"n":1', '"n":2'), true],
    [plain.replace('[]', '[{}]'), true],
    [plain.replace('"n":1', '"n":9007199254740993'), true],
  ] as const) {
    const { metas } = await shownOf(holding({ bytes: Buffer.from(plain) }, { bytes: Buffer.from(other) }))
    t.is(metas[0]?.differs, differs, other)
  }
  const big = plain.replace('"n":1', '"n":9007199254740993')
  const near = big.replace('993', '992')
  const { metas } = await shownOf(holding({ bytes: Buffer.from(big) }, { bytes: Buffer.from(near) }))
  t.true(metas[0]?.differs)
})

test('a better source with the publisher at another storefront disputes the listing', async (t) => {
  const publisher = '0x1'
  const at = (url: string | null | undefined) => ({ storefrontOf: () => url })
  const listing = (name: string, priority: number, more: Partial<FakeSource> = {}) =>
    fakeSource(name, [fakeItem('a', AT, { publisher, storefrontUrl: 'http://thief' })], { priority, ...more })
  const none = (name: string, priority: number, url: string | null | undefined) =>
    fakeSource(name, [], { priority, ...at(url) })
  for (const [sources, disputed] of [
    [[none('trusted', 1, 'http://seller'), listing('open', 2)], ['trusted']],
    [[none('trusted', 1, null), listing('open', 2)], ['trusted']],
    [[none('trusted', 1, 'http://thief'), listing('open', 2)], undefined],
    [[none('trusted', 1, undefined), listing('open', 2)], undefined],
    [[none('worse', 3, 'http://seller'), listing('open', 2)], undefined],
    [[listing('open', 2, at('http://seller'))], undefined],
  ] as const) {
    const { metas } = await shownOf(sources)
    t.deepEqual(metas[0]?.disputed, disputed)
  }
})

test('statements of a gateway about its listing are shown by names that lead through it', async (t) => {
  const origin = {
    registry: 'curated',
    alsoIn: ['local', 'fr/open'],
    disputed: ['x'],
    stale: true,
    differs: false,
  }
  const copies = holding(
    { publisher: '0x1', origin },
    { publisher: '0x1' },
    { publisher: '0x1', origin: { ...origin, alsoIn: [], disputed: [], stale: false } },
  )
  t.deepEqual((await shownOf(copies)).metas, [
    {
      registry: 's1/curated',
      publisher: '0x1',
      also_in: ['s1/local', 's1/fr/open', 's2', 's3/curated'],
      stale: true,
      disputed: ['s1/x'],
    },
  ])
})

test('dates in the future count as now, in the same order on all pages', async (t) => {
  const future = ['d', 'c', 'b'].map((id, n) => fakeItem(id, NOW + 1 + n * 1e12))
  const sources = [
    fakeSource('x', [...future, fakeItem('e', NOW)], { priority: 1 }),
    fakeSource('y', [fakeItem('a', NOW + 1e15), fakeItem('f', NOW - 1)], { priority: 2 }),
  ]
  const expected = ['b', 'c', 'd', 'e', 'a', 'f']
  t.deepEqual(idsOfPage(await gatewayOver(sources).page()), expected)
  t.deepEqual(idsOf({ listings: await readByCursor(sources, [2]) }), expected)
})

test('any number of dates beyond 2^53 microseconds can be walked', async (t) => {
  const far = Date.UTC(9999, 11, 31) * 1000
  const items = Array.from({ length: 450 }, (_, n) => fakeItem(`far-${1000 + n}`, far))
  t.is(new Set(idsOf({ listings: await readByCursor([fakeSource('x', items)], [200]) })).size, 450)
  const lines = await gatewayOver([fakeSource('x', items)]).lines()
  t.is(lines.length, 451)
  const tooMany = Array.from({ length: 2001 }, (_, n) => fakeItem(`far-${n}`, far + n))
  const { sources } = await gatewayOver([fakeSource('x', tooMany), fakeSource('y', items.slice(0, 1))]).page()
  t.like(sources[0], { registry: 'x', state: 'unavailable', reason: 'too_large' })
})

test('a source that fails midway keeps what was shown, and the others are read to the end', async (t) => {
  const items = (prefix: string) => Array.from({ length: 500 }, (_, n) => fakeItem(`${prefix}${n}`, AT - n))
  const good = fakeSource('good', items('g'))
  const bad = fakeSource('bad', items('b'))
  const { read } = bad
  bad.read = (...asked) => {
    if (bad.ranges.length === 2) bad.failure = 'connection_reset'
    return read(...asked)
  }
  const lines = await gatewayOver([good, bad]).lines()
  const ids = lines.map(({ listing_id }) => String(listing_id))
  t.is(ids.filter((id) => id.startsWith('g')).length, 500)
  const ofBad = ids.filter((id) => id.startsWith('b')).length
  t.true(ofBad > 0 && ofBad < 500)
  t.like(lines.at(-1)?._meta, {
    complete: false,
    sources: [{ state: 'loaded' }, { state: 'unavailable', reason: 'connection_reset', returned: ofBad }],
  })
})

/** Reads at most this many listings at a time. */
function inParts(
  source: FakeSource,
  size: number,
  change: (part: Reading, n: number) => Reading,
): FakeSource {
  const { read } = source
  let parts = 0
  source.read = async (query, range, signal) =>
    change(await read(query, { ...range, count: size }, signal), parts++)
  return source
}

test('a source read in parts is as old, stale and incomplete as any part, and current while all are', async (t) => {
  const items = ['a', 'b', 'c', 'd'].map((id, n) => fakeItem(id, AT - n))
  const missing = [{ registry: 'gone', state: 'unavailable', reason: 'dns' }] as const
  for (const odd of [0, 1]) {
    let isCurrent = true
    const source = inParts(fakeSource('eu', items), 2, (part, n) =>
      n === odd
        ? { ...part, asOf: 5, stale: true, missing, isCurrent: () => isCurrent }
        : { ...part, asOf: 7, isCurrent: () => true },
    )
    const page = await gatewayOver([source]).page({ limit: 4 })
    t.is(source.ranges.length, 2)
    t.false(page.complete)
    t.deepEqual(
      page.sources.map(({ registry, state }) => [registry, state]),
      [
        ['eu', 'stale'],
        ['eu/gone', 'unavailable'],
      ],
    )
    const result = page.outcomes[0]?.result as Reading
    t.is(result.asOf, 5)
    t.true(result.isCurrent?.())
    isCurrent = false
    t.false(result.isCurrent?.())
  }
})

test('a stream sends what is merged before each reading, which has its own budget', async (t) => {
  const events: string[] = []
  const sources = ['a', 'b', 'c'].map((name) => {
    const items = Array.from({ length: 500 }, (_, n) => fakeItem(`${name}${n}`, AT - n))
    const source = fakeSource(name, items)
    const { read } = source
    source.read = (...asked) => {
      events.push('read')
      return read(...asked)
    }
    return source
  })
  await gatewayOver(sources).lines({}, () => events.push('sent'))
  t.regex(events.join(' '), /^read read read( sent)+( read( sent)+)+$/)
  t.is(events.filter((event) => event === 'read').length, 9)
})
