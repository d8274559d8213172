import test from 'ava'
import { decodeUtf8, readListingRow, readOneListing } from '../../src/web/board/data/listing-row.ts'
import { orderedRows, priceGroups } from '../../src/web/board/data/prices.ts'
import { readView, withValue, writeView } from '../../src/web/board/view.ts'
import { linkTarget, untrustedText } from '../../src/web/common/untrusted-text.ts'

test('rows: one listing is read from complete and incomplete answers', (t) => {
  const listing =
    '{"listing_id":"x","n":9007199254740993,"note":"}\\"}","_meta":{"registry":"b","disputed":["a"]}}'
  const encode = (more: string) => new TextEncoder().encode(`{"listing":${listing}${more}}`)
  const whole = readOneListing(encode(''))
  t.like(whole, { id: 'x', registry: 'b', disputed: ['a'], isIncomplete: false })
  t.is(decodeUtf8(whole.bytes), listing)
  const partial = readOneListing(
    encode(',"complete":false,"sources":[{"registry":"a","state":"unavailable"}]'),
  )
  t.is(decodeUtf8(partial.bytes), listing)
  t.true(partial.isIncomplete)
  t.throws(() => readOneListing(new TextEncoder().encode('<html>')), { instanceOf: SyntaxError })
})

test('links: only to http and https URLs without credentials', (t) => {
  t.is(linkTarget('https://a.example/x'), 'https://a.example/x')
  for (const url of [
    'javascript:alert(1)',
    ' java\nscript:alert(1)',
    'data:text/html,x',
    'https://u:p@a.example/',
    'x',
  ])
    t.is(linkTarget(url), null, url)
})

test('untrusted text: cut short, with invisible characters as escapes', (t) => {
  t.is(untrustedText('a\u202eb\u0000'), 'a\\u202eb\\u0000')
  t.is(untrustedText('x'.repeat(500)).length, 121)
})

test('view: the address holds all of it', (t) => {
  const view = {
    query: [
      ['region', 'a & b'],
      ['status', ''],
    ],
    open: { id: 'x/#?é', registry: 'eu/b' },
    order: 'price',
  } as const
  const url = new URL(writeView(view), 'http://gateway.example/hub/?old=1')
  t.deepEqual(readView(url), view)
  t.is(url.pathname, '/hub/')
  const paged = new URL('http://g/?limit=5&cursor=x&region=&region=b')
  t.deepEqual(readView(paged).query, [['region', 'b']])
  t.deepEqual(withValue(view.query, 'region', null), [['status', '']])
  t.deepEqual(withValue(view.query, 'region', 'c')[0], ['region', 'c'])
})

test('price groups: exact, one for each token, chain and unit', (t) => {
  const row = (model: string, value: string, chain_name = 'base') =>
    readListingRow(
      new TextEncoder().encode(
        JSON.stringify({
          offer_resource: { gpu_model: model },
          accepted_escrows: [
            { chain_name, literal_fields: { token: '0xA' }, rates: [{ per: 'hour', value }] },
          ],
        }),
      ),
    )
  const big = '9007199254740993'
  const [first, second] = priceGroups([
    row('H200', big),
    row('H200', '1'),
    row('H200', '3'),
    row('T4', '2'),
    row('T4', '5', 'other'),
  ])
  t.like(first, { chain: 'base', per: 'hour', count: 4 })
  t.deepEqual(
    first?.models.map(({ model, lowest, median, highest }) => [model, lowest, median, highest]),
    [
      ['T4', 2n, 2n, 2n],
      ['H200', 1n, 3n, BigInt(big)],
    ],
  )
  t.is(second?.count, 1)
})

test('order by price: cheapest first within each token, no price last', (t) => {
  const row = (id: string, value: string | null, token = '0xA') =>
    readListingRow(
      new TextEncoder().encode(
        JSON.stringify({
          listing_id: id,
          accepted_escrows: [
            { literal_fields: { token }, rates: value === null ? [] : [{ per: 'hour', value }] },
          ],
        }),
      ),
    )
  const rows = [
    row('none', null),
    row('b', '1', '0xB'),
    row('big', '9007199254740993'),
    row('less', '9007199254740992'),
  ]
  t.deepEqual(
    orderedRows(rows, 'price').map(({ id }) => id),
    ['less', 'big', 'b', 'none'],
  )
  t.is(orderedRows(rows, 'newest'), rows)
})
