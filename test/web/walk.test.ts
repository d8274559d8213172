import test from 'ava'
import { readEnvelope } from '../../src/web/board/data/envelope.ts'
import { textOf } from '../../src/web/board/data/listing-row.ts'
import { MAX_ROWS, Walk, type WalkState } from '../../src/web/board/data/page-loader.ts'
import { RequestFault } from '../../src/web/common/request-fault.ts'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const listing = (id: string | number): string => `{"listing_id":"${id}","n":9007199254740993,"x":1.0}`

type Page = string | Error

/** A walk over these pages; what it asked for, and every state that it was in. */
function walkOver(pages: Page[]) {
  const asked: string[] = []
  const states: WalkState[] = []
  const walk = new Walk({
    read: async (paging) => {
      asked.push(paging)
      const page = pages.shift()
      if (page instanceof Error) throw page
      return encode(page ?? '')
    },
    onChange: (state) => states.push(state),
  })
  return { walk, asked, last: () => states.at(-1)! }
}

const page = (ids: readonly (string | number)[], total: number, more = ''): string =>
  `{"items":[${ids.map(listing).join(',')}],"count":${ids.length},"total_after_filter":${total}${more}}`

const SOURCES = ',"complete":true,"sources":[{"registry":"a","state":"loaded","matched":3,"age_seconds":0}]'

test('an envelope gives every listing to the byte', (t) => {
  const { items, total, sources, isComplete, nextCursor } = readEnvelope(encode(page(['é', 'b'], 7)))
  t.deepEqual(items.map(textOf), [listing('é'), listing('b')])
  t.deepEqual([total, sources, isComplete, nextCursor], [7, null, true, null])
  for (const text of ['', '[]', '{"items":7}', '{"items":[1,]}', '{"count":0,"items":[]}'])
    t.throws(() => readEnvelope(encode(text)), { instanceOf: SyntaxError }, text)
})

test('a gateway is walked by cursor, a plain Registry by offset', async (t) => {
  const gateway = walkOver([page([1, 2], 3, `${SOURCES},"next_cursor":"a+b"`), page([3], 3, SOURCES)])
  await gateway.walk.more()
  t.is(gateway.last().phase, 'more')
  await gateway.walk.more()
  t.is(gateway.last().phase, 'end')
  t.deepEqual(gateway.asked, ['limit=100', 'limit=100&cursor=a%2Bb'])
  const plain = walkOver([page([1, 2], 3), page([2, 3], 3)])
  await plain.walk.more()
  await plain.walk.until(3)
  t.deepEqual(plain.asked, ['limit=100', 'limit=100&offset=2'])
  t.deepEqual(
    plain.last().rows.map(({ id }) => id),
    ['1', '2', '3'],
    'what moved down a page is there once',
  )
})

test('a copy that a later page repeats is dropped, and the listing of another publisher is not', async (t) => {
  const copy = (registry: string, publisher: string | null, storefront: string, id = 'x'): string => {
    const known = publisher === null ? {} : { publisher }
    const meta = { registry, ...known, also_in: [], stale: false }
    return JSON.stringify({ listing_id: id, storefront_url: storefront, _meta: meta })
  }
  const envelope = (items: string[], more = ''): string =>
    `{"items":[${items}],"count":${items.length},"total_after_filter":9${SOURCES}${more}}`
  const { walk, last } = walkOver([
    envelope([copy('a', '0x1', 's'), copy('a', null, 't', 'y')], ',"next_cursor":"1"'),
    envelope(
      [copy('b', '0x1', 'other'), copy('b', '0x2', 's'), copy('b', '0x3', 't', 'y')],
      ',"next_cursor":"2"',
    ),
    envelope([copy('c', null, 'other'), copy('c', null, 'u')]),
  ])
  await walk.until(MAX_ROWS)
  await walk.more()
  await walk.until(MAX_ROWS)
  t.deepEqual(
    last().rows.map(({ registry, id, address }) => [registry, id, address]),
    [
      ['a', 'x', '0x1'],
      ['a', 'y', null],
      ['b', 'x', '0x2'],
      ['c', 'x', null],
    ],
  )
})

test('what one page lacked the whole lacks, and the counts stay those of the first', async (t) => {
  const lost =
    ',"complete":false,"sources":[{"registry":"a","state":"unavailable","reason":"timeout","matched":null},{"registry":"a/b","state":"skipped"}]'
  const { walk, last } = walkOver([
    page([1], 3, `${SOURCES},"next_cursor":"x"`),
    page([2], 9, `${lost},"next_cursor":"y"`),
    page([3], 3, SOURCES),
  ])
  await walk.more()
  await walk.until(MAX_ROWS)
  t.is(last().phase, 'end')
  t.false(last().isComplete)
  t.is(last().total, 3)
  t.like(last().sources?.[0], { state: 'unavailable', reason: 'timeout', matched: 3 })
  t.like(last().sources?.[1], { registry: 'a/b', state: 'skipped' })
})

test('a page that fails leaves what was read, and is asked for again', async (t) => {
  const fault = new RequestFault(503, { detail: 'not now', sources: [] })
  const { walk, asked, last } = walkOver([page([1], 2), fault, page([2], 2)])
  await walk.more()
  await walk.more()
  t.like(last(), { phase: 'failed', fault })
  t.is(last().rows.length, 1)
  await walk.more()
  t.like(last(), { phase: 'end', fault: null })
  t.is(asked[1], asked[2])
})

test('what is no list of listings is a fault, not an empty list', async (t) => {
  const { walk, last } = walkOver(['<html>'])
  await walk.more()
  t.is(last().phase, 'failed')
  t.is(last().total, null)
})

test('no more is held than a page can bear', async (t) => {
  const ids = (from: number) => Array.from({ length: 200 }, (_, n) => from + n)
  const pages = Array.from({ length: 60 }, (_, n) => page(ids(n * 200), 12_000))
  const { walk, asked, last } = walkOver(pages)
  await walk.more()
  await walk.until(Number.MAX_SAFE_INTEGER)
  t.is(last().rows.length, MAX_ROWS)
  t.is(last().phase, 'end')
  t.is(asked.length, 50)
})
