import test from 'ava'
import { formatDuration } from '../../../src/domain/duration.ts'
import { readableAmount } from '../../../src/domain/price/price-key.ts'
import { TokenTable } from '../../../src/domain/price/token.ts'
import { timeAgo } from '../../../src/domain/timestamp.ts'
import { filterWords, titleOf } from '../../../src/web/board/chips.ts'
import { viewOfSpec } from '../../../src/web/board/listing-view.ts'
import { formatMember, labelOf } from '../../../src/web/board/members.ts'
import { amountOf, safeUnit, shortAmount, shownOption } from '../../../src/web/board/prices.ts'
import { decodeUtf8, readListingRow, readOneListing } from '../../../src/web/board/state/listing-row.ts'
import { listingsCsv } from '../../../src/web/board/table/columns.ts'
import { inOrder, sortOf } from '../../../src/web/board/table/row-order.ts'
import { filtersOf, readView, withValue, withValues, writeView } from '../../../src/web/board/view.ts'
import { linkTarget, untrustedText } from '../../../src/web/common/untrusted-text.ts'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const rowOf = (listing: object) => readListingRow(encode(JSON.stringify(listing)))

test('rows: one listing is read from complete and incomplete answers', (t) => {
  const listing =
    '{"listing_id":"x","n":9007199254740993,"note":"}\\"}","_meta":{"registry":"b","disputed":["a"]}}'
  const whole = readOneListing(encode(`{"listing":${listing}}`))
  t.like(whole, { id: 'x', registry: 'b', disputed: ['a'], isIncomplete: false })
  t.is(decodeUtf8(whole.bytes), listing)
  const partial = readOneListing(
    encode(`{"listing":${listing},"complete":false,"sources":[{"registry":"a","state":"unavailable"}]}`),
  )
  t.is(decodeUtf8(partial.bytes), listing)
  t.true(partial.isIncomplete)
  t.throws(() => readOneListing(encode('<html>')), { instanceOf: SyntaxError })
})

test('links: only to http and https URLs without credentials', (t) => {
  t.is(linkTarget('https://a.example/x'), 'https://a.example/x')
  const scripts = ['javascript:alert(1)', ' java\nscript:alert(1)', 'data:text/html,x']
  for (const url of [...scripts, 'https://u:p@a.example/', 'x']) t.is(linkTarget(url), null, url)
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
    page: 3,
    order: { by: 'ram', isDescending: true },
    open: { id: 'x/#?é', registry: 'eu/b' },
    compared: [
      { id: 'a:b&é', registry: 'eu/b' },
      { id: 'x', registry: null },
    ],
  } as const
  const url = new URL(writeView(view), 'http://gateway.example/hub/?old=1')
  t.deepEqual(readView(url), view)
  t.is(url.pathname, '/hub/')
  const paged = new URL('http://g/?limit=5&cursor=x&region=&region=b#page=-1')
  const nothingOpen = { order: null, open: null, compared: [] }
  t.deepEqual(readView(paged), { query: [['region', 'b']], page: 1, ...nothingOpen })
  const repeated = new URL('http://g/?gpu=A100&gpu=in:[L4]&gpu=T4&region=a&region=b&country=DE&country=')
  t.deepEqual(readView(repeated).query, [
    ['gpu', 'in:[A100,L4,T4]'],
    ['region', 'b'],
    ['country', 'DE'],
    ['sort', 'price'],
  ])
  t.deepEqual(readView(new URL('http://g/?gpu=A100'), 'USDC').query.slice(1), [
    ['sort', 'price'],
    ['price_token', 'USDC'],
  ])
  for (const search of ['?gpu=A100&sort=price', '?region=b'])
    t.deepEqual(readView({ search, hash: '' }, 'USDC'), readView({ search, hash: '' }), search)
  const named = new URL('http://g/?gpu=A100&sort=newest')
  t.deepEqual(
    readView(named).query[1],
    ['sort', 'newest'],
    'the order of a model is by price, but where it is named',
  )
  t.deepEqual(withValue([...view.query, ['strict.region', 'true']], 'region', null), [['status', '']])
  t.deepEqual(withValue(view.query, 'region', 'c')[0], ['region', 'c'])
})

test('view: parameters of a price go with the order and the ceiling that need them', (t) => {
  const query = withValues([], { sort: 'price', price_token: 'USDC', price_per: 'offer' })
  t.is(withValues(query, { sort: null }).length, 0)
  const limited = withValues(query, { price_max: '2', sort: null })
  t.deepEqual(
    limited.map(([name]) => name),
    ['price_token', 'price_per', 'price_max'],
  )
  t.deepEqual(withValue(limited, 'price_max', null), [])
  t.deepEqual(filtersOf([...query, ['strict.region', 'true'], ['region', 'a']]), [['region', 'a']])
})

const TOKENS = new TokenTable([
  { chain: 'base', address: '0xa', symbol: 'USDC', decimals: 6 },
  { chain: 'eth', address: '0xb', symbol: 'USDC', decimals: 6 },
])
const escrow = (chain_name: string, token: string, value: string, per = 'hour') => ({
  chain_name,
  literal_fields: { token },
  rates: [{ per, value }],
})

test('prices: the compared option is shown, else the lowest in the first known token', (t) => {
  const offer = { gpu_count: 8, gpu_model: 'H200' }
  const known = [escrow('base', '0xA', '17500000'), escrow('eth', '0xb', '16800000')]
  const accepted_escrows = [escrow('x', '0xc', '1'), ...known]
  const row = rowOf({ offer_resource: offer, accepted_escrows })
  t.like(shownOption(row, TOKENS), { chain: 'eth', value: 16_800_000n })
  t.like(shownOption(row, new TokenTable([])), { chain: 'x' })
  const price = { chain: 'base', token: '0xa', value: '17500000', per: 'hour' }
  const compared = rowOf({ offer_resource: offer, accepted_escrows, _meta: { price } })
  t.like(shownOption(compared, TOKENS), { chain: 'base' })
  const option = shownOption(row, TOKENS)!
  for (const [per, words] of [
    ['gpu', '2.10 GPU·h'],
    ['offer', '16.80 h'],
  ] as const)
    t.is(`${amountOf(option, row.gpus, per, TOKENS)} ${safeUnit(option.unit, per)}`, words)
  t.is(amountOf(option, null, 'gpu', TOKENS), null)
  t.is(shownOption(rowOf({ accepted_escrows: [escrow('base', '0xa', '-1')] }), TOKENS), null)
})

test('prices: amounts have two decimal places at least, four digits at most in tables, and are rounded up', (t) => {
  const whole = { '16': '16.00', '2.1': '2.10', '0.333334': '0.333334', '1234567.00001': '1,234,567.0001' }
  for (const [amount, shown] of Object.entries({ ...whole, '0.0000001': '0.000001', '1.99999': '2.00' }))
    t.is(readableAmount(amount, true), shown, amount)
  t.is(readableAmount('350000', false), '350,000')
  t.is(shortAmount('9'.repeat(40)), '≈ 1.00e+40')
  const kept = { '2.10': '2.10', '0.000001': '0.000001', '350,000': '350,000' }
  const cut = {
    '1.8025': '1.803',
    '99.995': '100.0',
    '1,234.50': '1,235',
    '30,864.4198': '30,865',
    '0.123451': '0.1235',
  }
  for (const [amount, shown] of Object.entries({ ...kept, ...cut })) t.is(shortAmount(amount), shown, amount)
})

test('order: a click orders a whole page by any column, the next one turns it', (t) => {
  const rows = [8, 'x', 4, 8].map((gpu_count, n) =>
    rowOf({ listing_id: String(n), offer_resource: { gpu_model: 'H200', gpu_count } }),
  )
  const view = readView({ search: '', hash: '#order=gpus' })
  const listingView = viewOfSpec(null)
  const sorting = { view, listingView, isMerged: false, priceToken: 'USDC', isWhole: true, canLoadAll: true }
  const idsIn = (hash: string, isWhole = true) =>
    inOrder(rows, { ...sorting, isWhole, view: readView({ search: '', hash }) })
      .map(({ id }) => id)
      .join('')
  t.is(idsIn('#order=gpus'), '2031', 'a listing without a value is last')
  t.is(idsIn('#order=-gpus'), '0321')
  t.is(idsIn('#order=-served'), '3210')
  t.is(idsIn('#order=-gpus', false), '0123')
  for (const name of ['constructor', '-unknown']) t.is(idsIn(`#order=${name}`), '0123')
  const turned = { order: { by: 'gpus', isDescending: true } }
  t.deepEqual(sortOf('gpus', sorting), { direction: 'ascending', change: turned })
  t.is(sortOf('gpus', { ...sorting, isWhole: false, canLoadAll: true }).change, null)
  t.deepEqual(sortOf('listed', sorting), { direction: 'none', change: { query: [], order: null } })
  const served = readView({ search: '?sort=price&price_token=USDC&price_per=gpu', hash: '' })
  t.deepEqual(sortOf('price', { ...sorting, view: served }), {
    direction: 'ascending',
    change: { order: { by: 'served', isDescending: true } },
  })
})

test('words: members of listings have labels and units for people', (t) => {
  for (const [name, value, words] of [
    ['ram_gb', 1536, '1.5 TB'],
    ['disk_gb', 16_000, '16 TB'],
    ['sla', 99.5, '99.5 %'],
    ['static_ip', true, 'yes'],
    ['nic_speed_gbps', 400, '400 Gbit/s'],
    ['internet_download_mbps', 940, '940 Mbit/s'],
    ['virtualization_type', 'bare_metal', 'bare metal'],
    ['constructor', 'x', 'x'],
  ] as const)
    t.is(formatMember(name, value), words)
  const durations = { 604800: '7 days', 3600: '1 hour', 90: '90 seconds', 86401: '86,401 seconds' }
  for (const [seconds, words] of Object.entries(durations)) t.is(formatDuration(Number(seconds)), words)
  const labels = { gpu_count_min: 'GPUs', strange_name: 'Strange name', constructor: 'Constructor' }
  for (const [name, label] of Object.entries(labels)) t.is(labelOf(name), label)
})

test('words: filters and the title say what is searched', (t) => {
  const WORDS = [
    ['gpu', 'in:[H100,H200]', 'GPU model: H100, H200'],
    ['country', 'in:[DE,GB]', 'Country: Germany, United Kingdom'],
    ['continent', 'EU', 'Place: Europe (continent)'],
    ['gpu_count_min', '8', 'GPUs: at least 8'],
    ['ram_gb_min', 'range:[64,128]', 'RAM: 64 to 128 GB'],
    ['price_max', '2.10', '≤ 2.10 USDC per GPU-hour'],
  ] as const
  const query = [...WORDS.map(([name, value]) => [name, value] as const), ['price_token', 'USDC'] as const]
  for (const [name, , words] of WORDS) t.is(filterWords(query, name), words)
  t.is(
    titleOf(query.slice(0, 4)),
    'H100, H200, Germany, United Kingdom, Europe (continent), 8+ GPUs · entrepot',
  )
  t.is(titleOf([]), 'entrepot')
})

test('times: in the largest unit that fits, marked where they lie in the future', (t) => {
  const now = Date.UTC(2026, 10, 22)
  const past = { 5: 'just now', 59: '59 s ago', 180: '3 min ago', 7200: '2 h ago', 248918400: '7 y ago' }
  for (const [seconds, words] of Object.entries({ ...past, [-3600]: 'in the future' }))
    t.is(timeAgo(now - Number(seconds) * 1000, now), words)
})

test('CSV: cells are quoted, and no cell is run as a formula', (t) => {
  const row = rowOf({
    listing_id: '=1+1',
    offer_resource: { gpu_model: 'a "b", c', gpu_count: 1 },
    accepted_escrows: [escrow('base', '0xa', '2500000')],
  })
  const [note, head, cells] = listingsCsv([row], TOKENS, ['all that match']).split('\r\n')
  t.is(note, '# all that match')
  t.is(head!.split(',').length, 25)
  t.true(
    cells!.startsWith(`"'=1+1","2.50","2.50","hour","USDC","0xa","base","no","","1 × a ""b"", c"`),
    cells,
  )
})
