import test from 'ava'
import { ProblemError, readReports } from '../../../src/client/problem-error.ts'
import { parseJson } from '../../../src/json/value.ts'
import { decodeUtf8 } from '../../../src/web/board/state/listing-row.ts'
import {
  type LoaderState,
  MAX_ROWS,
  PageLoader,
  readEnvelope,
} from '../../../src/web/board/state/page-loader.ts'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const listing = (id: string | number): string => `{"listing_id":"${id}","n":9007199254740993,"x":1.0}`

type Page = string | Error

/** A loader over these pages, its requests and its latest state. */
function loaderOver(pages: Page[]) {
  const requests: string[] = []
  const states: LoaderState[] = []
  const loader = new PageLoader({
    fetchPage: async (paging) => {
      requests.push(paging)
      const page = pages.shift()
      if (page instanceof Error) throw page
      return encode(page ?? '')
    },
    onChange: (state) => states.push(state),
  })
  return { loader, requests, last: () => states.at(-1)! }
}

const page = (ids: readonly (string | number)[], total: number, more = ''): string =>
  `{"items":[${ids.map(listing).join(',')}],"count":${ids.length},"total_after_filter":${total}${more}}`

/** A page of a gateway, with a cursor where others follow. */
const merged = (ids: readonly number[], total: number, cursor = ''): string =>
  page(ids, total, `${SOURCES}${cursor && `,"next_cursor":"${cursor}"`}`)

const SOURCES = ',"complete":true,"sources":[{"registry":"a","state":"loaded","matched":3,"age_seconds":0}]'

test('envelope: gives the exact bytes of every listing', (t) => {
  const { items, total, sources, isComplete, nextCursor } = readEnvelope(encode(page(['é', 'b'], 7)))
  t.deepEqual(items.map(decodeUtf8), [listing('é'), listing('b')])
  t.deepEqual([total, sources, isComplete, nextCursor], [7, null, true, null])
  for (const text of ['', '[]', '{"items":7}', '{"items":[1,]}', '{"count":0,"items":[]}'])
    t.throws(() => readEnvelope(encode(text)), { instanceOf: SyntaxError }, text)
})

test('page loader: pages by cursor at a gateway, by offset at a Registry', async (t) => {
  const gateway = loaderOver([merged([1, 2], 3, 'a+b'), merged([3], 3)])
  await gateway.loader.loadNext()
  t.is(gateway.last().phase, 'more')
  await gateway.loader.loadNext()
  t.is(gateway.last().phase, 'end')
  t.deepEqual(gateway.requests, ['limit=100', 'limit=100&cursor=a%2Bb'])
  const plain = loaderOver([page([1, 2], 3), page([2, 3], 3)])
  await plain.loader.loadNext()
  await plain.loader.loadUntil(3)
  t.deepEqual(plain.requests, ['limit=100', 'limit=100&offset=1'])
  t.deepEqual(
    plain.last().rows.map(({ id }) => id),
    ['1', '2', '3'],
    'a row that moved to the next page appears once',
  )
})

test('page loader: failures of any page remain, counts are those of the first', async (t) => {
  const lost =
    ',"complete":false,"sources":[{"registry":"a","state":"unavailable","reason":"timeout","matched":null},{"registry":"a/b","state":"skipped"}]'
  const { loader, last } = loaderOver([
    merged([1], 3, 'x'),
    page([2], 9, `${lost},"next_cursor":"y"`),
    merged([3], 3),
  ])
  await loader.loadNext()
  await loader.loadUntil(MAX_ROWS)
  t.is(last().phase, 'end')
  t.false(last().isComplete)
  t.is(last().total, 3)
  t.like(last().sources?.[0], { state: 'unavailable', reason: 'timeout', matched: 3 })
  t.like(last().sources?.[1], { registry: 'a/b', state: 'skipped' })
})

test('page loader: a failed page keeps the rows and is requested again, and no list is no empty list', async (t) => {
  const odd = loaderOver(['<html>'])
  await odd.loader.loadNext()
  t.like(odd.last(), { phase: 'failed', total: null })
  const error = new ProblemError(503, { detail: 'not now' })
  const { loader, requests, last } = loaderOver([page([1], 2), error, page([2], 2)])
  await loader.loadNext()
  await loader.loadNext()
  t.like(last(), { phase: 'failed', error })
  t.is(last().rows.length, 1)
  await loader.loadNext()
  t.like(last(), { phase: 'end', error: null })
  t.is(requests[1], requests[2])
})

test('page loader: once stopped it ends, and neither requests nor changes anything', async (t) => {
  const second = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  let requests = 0
  let changes = 0
  const loader = new PageLoader({
    fetchPage: async (_paging, signal) => {
      if (++requests === 2) {
        second.resolve()
        await held.promise
      }
      signal.throwIfAborted()
      return encode(merged([requests], 9, `${requests}`))
    },
    onChange: () => changes++,
  })
  const all = loader.loadUntil(MAX_ROWS)
  await second.promise
  loader.stop()
  const before = changes
  held.resolve()
  t.false(await all)
  t.deepEqual([requests, changes], [2, before])
})

test('sources: a malformed body gives no sources, a malformed entry gets defaults', (t) => {
  for (const body of ['null', '7', '[]', '{"sources":{}}']) t.deepEqual(readReports(parseJson(body)), [])
  const [odd] = readReports(parseJson('{"sources":[{"matched":"many","filters":7}]}'))
  t.like(odd, { registry: '?', state: 'unavailable', reason: undefined, filters: [], matched: null })
})
