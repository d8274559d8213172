import test, { type ExecutionContext } from 'ava'
import type { CopyQuery } from '../../../../src/domain/source/held.ts'
import type { Item } from '../../../../src/domain/source/reading.ts'
import { selectAll } from '../../../../src/listing-index/item-selection.ts'
import { listingText, listingTexts } from '../../../helpers/fake-registry.ts'
import { filterOf, specBody } from '../../../helpers/specs.ts'
import {
  failureOf,
  filtered,
  idsOf,
  listingQuery,
  openUpstream,
  PAST_FRESH,
  type TestUpstreamOptions,
} from '../../../helpers/upstream.ts'

const ADDRESS = `0x${'a'.repeat(40)}`
const OTHER = `0x${'b'.repeat(40)}`
const ALL = { count: Number.POSITIVE_INFINITY }
const GPU = filterOf('gpu_model')
const OPEN: CopyQuery = { status: 'open' }

function sized(gpu_model: string, fields: object = {}): string {
  return listingText({ listing_id: gpu_model, offer_resource: { gpu_model, gpu_count: 1 }, ...fields })
}

async function openWhole(
  t: ExecutionContext,
  fakeOptions: Parameters<typeof openUpstream>[1],
  options: TestUpstreamOptions = {},
) {
  const opened = await openUpstream(t, fakeOptions, options)
  await opened.ready
  const { signal } = new AbortController()
  const readWhole = (query: CopyQuery = OPEN) => opened.source.readWhole!(query, signal)
  return { ...opened, signal, readWhole }
}

test('whole run: it holds all listings of the status, with their publishers, and is read once while fresh', async (t) => {
  const items = [...listingTexts('a', 260), listingText({ listing_id: 'closed', status: 'closed' })]
  const { readWhole, fake, clock } = await openWhole(t, { items, publishers: [[1, ADDRESS]] })
  const whole = await readWhole()
  t.is([...(whole?.ids() ?? [])].length, 260)
  t.like(whole?.find('a-0259')[0], { listingId: 'a-0259', publisher: ADDRESS })
  t.deepEqual(whole?.find('closed'), [])
  const { length } = fake.requests
  t.deepEqual([...((await readWhole())?.ids() ?? [])], [...(whole?.ids() ?? [])])
  t.is(fake.requests.length, length)
  t.deepEqual([...((await readWhole({ status: 'closed' }))?.ids() ?? [])], ['closed'])
  t.is([...((await readWhole({ status: null }))?.ids() ?? [])].length, 261)
  clock.advance(PAST_FRESH)
  fake.items = listingTexts('b', 1)
  await readWhole({ status: 'open', caching: 'no-cache' })
  t.deepEqual([...((await readWhole())?.ids() ?? [])], ['b-0000'])
})

test('whole run: a source with more than scan_limit listings has none, which is asked once while fresh', async (t) => {
  const items = listingTexts('a', 450)
  const { readWhole, read, fake } = await openWhole(t, { items }, { scanLimit: 449 })
  t.is(await readWhole(), null)
  t.is(await readWhole(), null)
  t.is((await failureOf(t, read({}, ALL))).reason, 'scan_limit')
  t.is((await read({}, { count: 100 })).total, 450)
  t.is(fake.requests.length, 1)
  t.is(await readWhole({ status: 'open', caching: 'no-cache' }), null)
  t.is(fake.requests.length, 2)
  const { readWhole: readNone, fake: other } = await openWhole(t, { items }, { scanLimit: 0 })
  t.is(await readNone(), null)
  t.is(other.requests.length, 0)
})

test('whole run: a source that fails rejects, and one of another schema decides nothing', async (t) => {
  const items = listingTexts('a', 1)
  const { readWhole } = await openWhole(t, { items, script: [{ kind: 'status', status: 503 }] })
  t.is((await failureOf(t, readWhole())).reason, 'http_503')
  const filterSpec = specBody('one', [GPU], 'vms.other')
  const other = await openWhole(t, { items, filterSpec }, { parts: { schema: 'vms.compute' } })
  t.is((await failureOf(t, other.readWhole())).reason, 'schema_mismatch')
})

test('whole run: while it is fresh, pages and selections of that status are made of it', async (t) => {
  const rates = [{ field: 'amount', per: 'hour', value: '5' }]
  const accepted_escrows = [{ chain_name: 'base', literal_fields: { token: '0xaa' }, rates }]
  const items = [sized('H100'), sized('A100', { publisher_id: 2, accepted_escrows })]
  const { readWhole, read, source, fake, clock, signal } = await openWhole(t, {
    items,
    filterSpec: specBody('one', [GPU]),
    publishers: [
      [2, OTHER],
      [1, ADDRESS],
    ],
  })
  const byModel = filtered([GPU], ['gpu_model', 'A100'])
  const token = { chain: 'base', address: '0xaa', symbol: 'A', decimals: 0 }
  await readWhole()
  fake.items = [sized('A100', { listing_id: 'later' }), sized('B200', { status: 'closed' })]
  const reading = await read(byModel)
  t.deepEqual(idsOf(reading), ['A100'])
  t.like(reading, { total: 1, hasMore: false, stale: false, cache: { outcome: 'hit' } })
  t.deepEqual(
    reading.all?.map(({ listingId }) => listingId),
    ['A100'],
  )
  t.deepEqual(idsOf(await read({ publisher: OTHER })), ['A100'])
  t.deepEqual(idsOf(await read({ priceLimit: { tokens: [token], per: 'gpu', max: 1e9 } })), ['A100'])
  const selection = await selectAll(source.read)(listingQuery(byModel), signal)
  t.deepEqual(idsOf({ listings: [...selection.items()] }), ['A100'])
  const { position, listingId } = (await read({}, { count: 1 })).listings[0]!
  t.deepEqual(idsOf(await read({}, { after: { position, listingId } })), ['H100'])
  t.is(fake.requests.length, 1)

  t.deepEqual(idsOf(await read({ status: 'closed' })), ['B200'])
  t.deepEqual(idsOf(await read({ ...byModel, caching: 'no-cache' })), ['later'])
  t.deepEqual(idsOf(await read({ listingId: 'later' })), ['later'])
  clock.advance(PAST_FRESH)
  t.deepEqual(idsOf(await read({ ...byModel, status: 'open' })), ['later'])
})

test('whole run: the query that it was read for is answered from it, also with no-cache', async (t) => {
  const { readWhole, source, fake, signal } = await openWhole(t, { items: [sized('H100'), sized('A100')] })
  const range = { after: null, offsetHint: 0, count: 50 }
  for (const n of [1, 2]) {
    const query = listingQuery({ ...filtered([GPU], ['gpu_model', 'A100']), caching: 'no-cache' })
    const whole = readWhole(query)
    t.deepEqual(idsOf(await source.read(query, range, signal)), ['A100'])
    t.is((await whole)?.find('H100').length, 1)
    t.is(fake.requests.length, n)
  }
})

test('whole run: a publisher that no directory names is asked of the upstream', async (t) => {
  const { readWhole, read, fake } = await openWhole(t, { items: [sized('H100')] })
  await readWhole()
  await failureOf(t, read({ publisher: ADDRESS }))
  t.deepEqual(
    fake.requests.map(({ parameters }) => parameters.get('publisher')),
    [null, ADDRESS],
  )
})

test('whole run: of pages before and after it, each unreadable listing counts once', async (t) => {
  const items = listingTexts('a', 200).map((text, n) => (n % 2 === 0 ? text : text.replace('a-', 'a\\u0007')))
  for (const query of [{}, filtered([GPU], ['gpu_model', 'H100'])]) {
    const { readWhole, read, fake } = await openWhole(t, { items, filterSpec: specBody('one', [GPU]) })
    const first = await read(query, { count: 40 })
    await readWhole()
    const { length } = fake.requests
    const { position, listingId } = first.listings.at(-1)!
    const rest = await read(query, { ...ALL, after: { position, listingId } })
    const readable = [...first.listings, ...rest.listings].filter(isReadable)
    t.is(readable.length, 100)
    const shownInvalid = first.listings.length + rest.listings.length - readable.length
    t.is((first.invalid ?? 0) + (rest.invalid ?? 0) + shownInvalid, 100)
    t.is(fake.requests.length, length)
  }
})

function isReadable(item: Item): boolean {
  try {
    return item.bytes.length > 0
  } catch {
    return false
  }
}
