import test from 'ava'
import { endOfMs } from '../../../src/domain/timestamp.ts'
import { renderMerged } from '../../../src/gateway/pages/render.ts'
import { type FakeSource, fakeItem, fakeSource } from '../../helpers/fake-source.ts'
import { manualClock } from '../../helpers/manual-clock.ts'
import { gatewayOver, metaOf } from '../../helpers/pages.ts'

/** Some instant of the past. */
const AT = endOfMs(manualClock().now()) - 1e9

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
