import { DatabaseSync } from 'node:sqlite'
import test from 'ava'
import { parseJson } from '../../../../src/json/value.ts'
import { FIXED_TIME, openMarket } from '../../../helpers/market.ts'
import { startRegistry } from '../../../helpers/registry.ts'
import { temporaryFile } from '../../../helpers/run-cli.ts'
import { ALICE, BOB, mintKey, postJson, publishBody, sign } from '../../../helpers/seller.ts'

const FULL = {
  listing_id: 'one',
  offer_resource: { gpu_model: 'H200' },
  accepted_escrows: [{ chain_name: 'anvil' }],
  demands: [{ arbiter: '0x1' }],
  max_duration_seconds: 3600,
  oracle_address: '0x2',
}
const { listing_id: _, ...FIELDS } = FULL

test('upsert: a new listing gets defaults for absent and null members', async (t) => {
  const { publish, listing } = await openMarket(t)
  const nulls = Object.fromEntries(Object.keys(FIELDS).map((name) => [name, null]))
  const receipt = (await publish({ listing_id: 'absent' })).json()
  t.deepEqual(Object.keys(receipt), ['listing_id', 'publisher_id', 'status', 'created_at', 'updated_at'])
  await publish({ listing_id: 'null', ...nulls })
  for (const id of ['absent', 'null']) {
    t.like(await listing(id), {
      storefront_url: null,
      offer_resource: {},
      accepted_escrows: [],
      demands: [],
      max_duration_seconds: null,
      oracle_address: null,
      status: 'open',
    })
  }
})

test('upsert: a new listing may have any status', async (t) => {
  const { publish, listing } = await openMarket(t)
  for (const status of ['open', 'closed', 'expired']) {
    t.is((await publish({ listing_id: status, status })).json().status, status)
    t.is((await listing(status))?.status, status)
  }
})

for (const [name, value] of Object.entries(FIELDS)) {
  test(`null or absent keeps ${name}, anything else replaces it`, async (t) => {
    const { publish, listing } = await openMarket(t)
    t.is((await publish(FULL)).status, 201)
    t.is((await publish({ listing_id: 'one', [name]: null }, FIXED_TIME - 1)).status, 201)
    t.like(await listing('one'), FIELDS)
    await publish({ listing_id: 'one' }, FIXED_TIME - 2)
    t.like(await listing('one'), FIELDS)
    const empty = { array: [], number: 0, string: '', object: {} }[
      Array.isArray(value) ? 'array' : (typeof value as 'number')
    ]
    await publish({ listing_id: 'one', [name]: empty }, FIXED_TIME - 3)
    t.like(await listing('one'), { ...FIELDS, [name]: empty })
  })
}

test('upsert: without a status, a closed listing stays closed', async (t) => {
  const { publish, listing } = await openMarket(t)
  await publish({ ...FULL, status: 'closed' })
  t.is((await publish(FULL, FIXED_TIME - 1)).json().status, 'closed')
  t.is((await publish({ listing_id: 'one', status: 'open' }, FIXED_TIME - 2)).json().status, 'open')
  const refused = await publish({ listing_id: 'one', status: null }, FIXED_TIME - 3)
  t.is(refused.status, 400)
  t.is(refused.json().detail, 'Invalid status: None')
  t.is((await listing('one'))?.status, 'open')
})

test('upsert: republishing keeps created_at and the position, and changes updated_at', async (t) => {
  const { publish, listing, get } = await openMarket(t)
  for (const listing_id of ['one', 'two', 'three']) await publish({ ...FULL, listing_id })
  const before = (await listing('one'))!
  const again = await publish({ ...FULL, demands: [] }, FIXED_TIME - 1)
  t.is(again.status, 201)
  const after = (await listing('one'))!
  t.is(after.created_at, before.created_at)
  t.is(again.json().created_at, before.created_at)
  t.true(String(after.updated_at) > String(before.updated_at))
  const { items } = (await get('/listings')).json() as { items: { listing_id: string }[] }
  t.deepEqual(
    items.map(({ listing_id }) => listing_id),
    ['three', 'two', 'one'],
  )
})

test('upsert: publishing after a delete makes a new listing at the top', async (t) => {
  const { publish, remove, listing, get } = await openMarket(t)
  await publish(FULL)
  await publish({ ...FULL, listing_id: 'two' })
  const before = (await listing('one'))!
  t.is((await remove('one')).status, 204)
  t.is(await listing('one'), null)
  await publish({ listing_id: 'one' }, FIXED_TIME - 1)
  const after = (await listing('one'))!
  t.deepEqual(after.offer_resource, {}, 'nothing is left of the old one')
  t.true(String(after.created_at) > String(before.created_at))
  const { items } = (await get('/listings')).json() as { items: { listing_id: string }[] }
  t.is(items[0]?.listing_id, 'one')
})

test("upsert: the storefront URL is the publisher's, and an empty one changes nothing", async (t) => {
  const { publish, listing } = await openMarket(t)
  const urls = async (): Promise<unknown[]> => [
    (await listing('one'))?.storefront_url,
    (await listing('two'))?.storefront_url,
  ]
  await publish({ listing_id: 'one' })
  await publish({ listing_id: 'two', storefront_url: 'https://a.example/' }, FIXED_TIME - 1)
  t.deepEqual(await urls(), ['https://a.example/', 'https://a.example/'])
  await publish({ listing_id: 'two', storefront_url: 'https://b.example/' }, FIXED_TIME - 2)
  t.deepEqual(await urls(), ['https://b.example/', 'https://b.example/'])
  for (const [n, storefront_url] of ['', null, undefined].entries())
    await publish({ listing_id: 'two', storefront_url }, FIXED_TIME - 3 - n)
  t.deepEqual(await urls(), ['https://b.example/', 'https://b.example/'])
})

test('upsert: an empty storefront URL is served if the publisher has no other', async (t) => {
  const { publish, listing, get } = await openMarket(t)
  await publish({ listing_id: 'one', storefront_url: '' })
  t.is((await listing('one'))?.storefront_url, '')
  const { items } = (await get('/publishers')).json() as { items: { storefront_url: unknown }[] }
  t.is(items[0]?.storefront_url, '')
  await publish({ listing_id: 'one', storefront_url: null }, FIXED_TIME - 1)
  t.is((await listing('one'))?.storefront_url, '')
  await publish({ listing_id: 'one', storefront_url: 'https://a.example/' }, FIXED_TIME - 2)
  t.is((await listing('one'))?.storefront_url, 'https://a.example/')
})

test('upsert: a string of JSON is its content, other strings are empty', async (t) => {
  const { publish, listing, get } = await openMarket(t)
  const offer = '{"gpu_model":"H200","sla":99.0,"big":1180591620717411303424}'
  await publish({
    listing_id: 'one',
    offer_resource: offer,
    accepted_escrows: '[{"chain_name":"anvil"}]',
    demands: 'no JSON',
    max_duration_seconds: '3600',
  })
  t.like(await listing('one'), { accepted_escrows: [{ chain_name: 'anvil' }], demands: [] })
  const { text } = await get('/listings?gpu_model=H200')
  t.true(text.includes(`"offer_resource":${offer},`) && text.includes('"max_duration_seconds":3600,'))
})

test('upsert: a string of null is null, served and filtered as such', async (t) => {
  const { publish, listing, get } = await openMarket(t)
  const strings = { offer_resource: 'null', accepted_escrows: ' null ', demands: 'null' }
  const nulls = { offer_resource: null, accepted_escrows: null, demands: null }
  await publish({ listing_id: 'one', ...strings })
  await publish(FULL, FIXED_TIME - 1)
  await publish({ listing_id: 'two', offer_resource: { gpu_model: 'H200' } }, FIXED_TIME - 2)
  t.like(await listing('one'), { offer_resource: { gpu_model: 'H200' } })
  await publish({ listing_id: 'one', ...strings }, FIXED_TIME - 3)
  t.like(await listing('one'), nulls)
  const { items } = (await get('/listings?gpu_model=H200')).json() as { items: { listing_id: string }[] }
  t.deepEqual(
    items.map(({ listing_id }) => listing_id),
    ['two'],
  )
  t.is((await get('/listings?sort=price')).json().total_after_filter, 2)
})

test('upsert: a numeric text as a duration is the number that an integer column of SQLite makes of it', async (t) => {
  const environment = { REGISTRY_FILTER_SPEC_PATH: temporaryFile(t, 'spec.yaml', DURATION_SPEC) }
  const { publish, get } = await openMarket(t, { environment })
  const column = new DatabaseSync(':memory:')
  column.exec('CREATE TABLE durations (value INTEGER)')
  const insert = column.prepare('INSERT INTO durations VALUES (?) RETURNING value')
  insert.setReadBigInts(true)
  for (const [n, text] of DURATIONS.entries()) {
    await publish({ listing_id: 'one', max_duration_seconds: text }, FIXED_TIME - n)
    const { value } = insert.get(text) as { value: string | number | bigint }
    const served = /"max_duration_seconds":(.*?),"oracle/s.exec((await get('/listings/one')).text)?.[1]
    const number = parseJson(served!)
    t.is(typeof value === 'bigint' ? BigInt(number as number) : number, value, JSON.stringify(text))
    if (typeof value === 'string') continue
    const filter = typeof value === 'bigint' ? 'seconds' : 'duration'
    const { count } = (await get(`/listings?${filter}=${encodeURIComponent(String(value))}`)).json()
    t.is(count, 1, `a filter finds ${JSON.stringify(text)}`)
  }
})

const DURATIONS = [
  ...['1e3', '5.0', '+5', ' 5 ', '007', '.5', '5.', '-0', '-0.0', '\t5\n', '1.5E+3', '-5.5e-2', '0.1'],
  ...['9007199254740993', '9223372036854775807', '9223372036854775808', '0'.repeat(40), '1e300'],
  ...['', ' ', '.', '1e', 'e3', '0x10', '1_000', '+-5', 'inf', 'nan', '5 5', '\u00a05', '\u0663'],
]

const DURATION_SPEC = `
version: 1
listing_shape: {}
filters:
  - { name: duration, path: $.max_duration_seconds, op: in, value_type: number }
  - { name: seconds, path: $.max_duration_seconds, op: in, value_type: integer }
`

test('upsert: a string of JSON has the limits of the body', async (t) => {
  const { publish } = await openMarket(t)
  const deep = `${'['.repeat(40)}${']'.repeat(40)}`
  const long = JSON.stringify(Array(1001).fill(0))
  for (const [demands, message] of [
    [deep, /body.demands: The listing would be nested 41 deep; at most 32 is allowed/],
    [long, /body.demands: An array has more than 1000 items/],
  ] as const) {
    const reply = await publish({ listing_id: 'one', demands })
    t.is(reply.status, 422)
    t.regex(reply.json().detail as string, message)
  }
})

test('upsert: a number as listing id is its digits', async (t) => {
  const { publish, listing } = await openMarket(t)
  t.is((await publish({ listing_id: 12 })).json().listing_id, '12')
  t.truthy(await listing('12'))
  for (const listing_id of [0, false]) t.is((await publish({ listing_id })).status, 400)
})

test('upsert: limits of ids and URLs count code points', async (t) => {
  const { publish, listing } = await openMarket(t)
  t.is((await publish({ listing_id: '🚀'.repeat(200) })).status, 201)
  t.truthy(await listing('🚀'.repeat(200)))
  t.is((await publish({ listing_id: '🚀'.repeat(201) })).status, 422)
  const storefront_url = `https://a.example/${'x'.repeat(2048)}`
  t.is((await publish({ listing_id: 'one', storefront_url })).status, 422)
  t.is((await publish({ listing_id: '\ud800' })).status, 422)
})

test('upsert: identifiers are case-insensitive, unknown members ignored', async (t) => {
  const { url, publish, get } = await openMarket(t)
  const body = { ...(await publishBody(ALICE, FULL, FIXED_TIME)), identifier: ALICE.address, banana: [1] }
  t.is((await postJson(`${url}/listings`, JSON.stringify(body))).status, 201)
  await publish({ listing_id: 'two', scheme: null })
  await publish({ listing_id: 'three', scheme: '' }, FIXED_TIME - 1)
  t.is((await get('/publishers')).json().count, 1)
})

test('update: changes only status and oracle', async (t) => {
  const { publish, update, listing } = await openMarket(t)
  await publish(FULL)
  const before = (await listing('one'))!
  const reply = await update('one', {
    status: 'closed',
    offer_resource: { gpu_model: 'B200' },
    storefront_url: 'x',
  })
  t.is(reply.status, 200)
  t.deepEqual(Object.keys(reply.json()), ['listing_id', 'status', 'updated_at'])
  const { updated_at, status, ...rest } = (await listing('one'))!
  t.is(status, 'closed')
  t.is(updated_at, reply.json().updated_at)
  t.true(String(updated_at) > String(before.updated_at))
  t.like(before, rest)
})

test('update: an oracle replaces, null clears, absent keeps', async (t) => {
  const { publish, update, listing } = await openMarket(t)
  await publish(FULL)
  for (const [n, [fields, oracle]] of (
    [
      [{}, '0x2'],
      [{ oracle_address: '0x3' }, '0x3'],
      [{ status: 'closed' }, '0x3'],
      [{ oracle_address: null }, null],
    ] as const
  ).entries()) {
    t.is((await update('one', fields, FIXED_TIME - n)).status, 200)
    t.is((await listing('one'))?.oracle_address, oracle)
  }
})

test('update: an array or an object as oracle is refused', async (t) => {
  const { publish, update, listing } = await openMarket(t)
  await publish(FULL)
  const before = await listing('one')
  for (const oracle_address of [[], {}, { any: ['thing'] }]) {
    const reply = await update('one', { oracle_address, status: 'closed' })
    t.is(reply.status, 422)
    t.deepEqual(reply.json().errors, [
      { path: 'body.oracle_address', message: 'Input should be a string or null' },
    ])
  }
  t.deepEqual(await listing('one'), before)
})

test('update: any of the three statuses may follow any other', async (t) => {
  const { publish, update } = await openMarket(t)
  await publish(FULL)
  const statuses = ['expired', 'open', 'closed', 'expired', 'closed', 'open']
  for (const [n, status] of statuses.entries())
    t.is((await update('one', { status }, FIXED_TIME - n)).json().status, status)
  for (const [status, shown] of [
    [null, 'None'],
    ['Open', 'Open'],
    ['', ''],
    [5, '5'],
  ]) {
    const reply = await update('one', { status }, FIXED_TIME - 10)
    t.is(reply.status, 400)
    t.is(reply.json().detail, `Invalid status: ${shown}`)
  }
})

test('update, delete: an unknown listing is 404 before the signature is checked', async (t) => {
  const { url, update, remove } = await openMarket(t)
  t.is((await update('nope', { status: 'closed' })).status, 404)
  t.is((await update('nope', { status: 'nonsense' }, FIXED_TIME - 9000)).status, 404)
  t.is((await remove('nope')).status, 404)
  const bare = await fetch(`${url}/listings/nope`, {
    method: 'PUT',
    body: Buffer.from('{"signature":"junk","timestamp":1}'),
  })
  t.is(bare.status, 404)
  for (const query of ['', '?signature=junk&timestamp=1', '?timestamp=1']) {
    const reply = await fetch(`${url}/listings/nope${query}`, { method: 'DELETE' })
    t.is(reply.status, 404)
    t.is(((await reply.json()) as { detail: string }).detail, 'Listing not found')
  }
  t.is(
    (await fetch(`${url}/listings/nope`, { method: 'PUT', body: Buffer.from('[]') })).status,
    422,
    '422 comes first',
  )
  t.is((await fetch(`${url}/listings/nope?timestamp=x`, { method: 'DELETE' })).status, 422, '422 comes first')
})

test("update, delete: 401 without the owner's signature, and nothing changes", async (t) => {
  const { url, publish, update, remove, listing } = await openMarket(t)
  await publish(FULL)
  const before = await listing('one')
  const detail = async (reply: Promise<Response>): Promise<[number, unknown]> => {
    const { detail } = (await (await reply).json()) as { detail: string }
    return [(await reply).status, detail]
  }
  const missing = 'Signature and timestamp required for authenticated listings'
  const put = (body: unknown) =>
    fetch(`${url}/listings/one`, { method: 'PUT', body: Buffer.from(JSON.stringify(body)) })
  t.deepEqual(await detail(put({ status: 'closed' })), [401, missing])
  t.deepEqual(await detail(put({ signature: '0x', timestamp: null })), [401, missing])
  t.deepEqual(await detail(fetch(`${url}/listings/one`, { method: 'DELETE' })), [401, missing])
  const skew = 'Timestamp too old or too far in future (max 5 minutes)'
  for (const reply of [await update('one', {}, FIXED_TIME - 301), await remove('one', FIXED_TIME + 301)])
    t.deepEqual([reply.status, reply.json().detail], [401, skew])
  for (const reply of [await update('one', {}, FIXED_TIME, BOB), await remove('one', FIXED_TIME, BOB)])
    t.deepEqual([reply.status, reply.json().detail], [401, 'Invalid signature'])
  const order = await update('one', { status: 'nonsense' }, FIXED_TIME, BOB)
  t.is(order.status, 401, 'the signature comes before the status')
  const foreign = await sign(ALICE, 'delete_listing', 'two', FIXED_TIME)
  const reply = await fetch(`${url}/listings/one?signature=${foreign}&timestamp=${FIXED_TIME}`, {
    method: 'DELETE',
  })
  t.is(reply.status, 401, 'a signature for another listing')
  t.deepEqual(await listing('one'), before)
})

test('publish: a refused one changes no publisher', async (t) => {
  const { publish, get } = await openMarket(t)
  await publish({ ...FULL, storefront_url: 'https://a.example/' })
  await publish({ listing_id: 'bobs' }, FIXED_TIME, BOB)
  const before = (await get('/publishers')).text
  const evil = 'https://evil.example/'
  const refusals: [number, Record<string, unknown>][] = [
    [400, { listing_id: '', storefront_url: evil }],
    [403, { listing_id: 'bobs', storefront_url: evil }],
    [400, { listing_id: 'new', storefront_url: evil, status: 'nonsense' }],
    [422, { listing_id: 'new', storefront_url: 5 }],
    [422, { listing_id: 'a\nb', storefront_url: evil }],
  ]
  for (const [status, fields] of refusals) t.is((await publish(fields, FIXED_TIME - 1)).status, status)
  t.is((await get('/publishers')).text, before)
  t.is((await get('/listings?status=')).json().count, 2)
})

test('write gate: a DELETE of an unknown listing probes it with 401, 403 or 404', async (t) => {
  const { url } = await startRegistry(t, {
    environment: { REGISTRY_REQUIRE_WRITE_API_KEY: 'true', REGISTRY_ADMIN_API_KEY: 'admin' },
  })
  const probe = async (headers: Record<string, string> = {}): Promise<number> =>
    (await fetch(`${url}/listings/probe`, { method: 'DELETE', headers })).status
  t.is(await probe(), 401)
  t.is(await probe({ Authorization: 'Bearer nope' }), 401)
  t.is(await probe((await mintKey(url)).bearer), 403)
  t.is(await probe((await mintKey(url, { scope: 'write' })).bearer), 404)
})

test('publisher filter: case-insensitive', async (t) => {
  const { get, publish } = await openMarket(t)
  await publish(FULL)
  for (const address of [ALICE.address, ALICE.address.toLowerCase(), ALICE.address.toUpperCase()]) {
    t.is((await get(`/listings?publisher=${address}`)).json().count, 1)
    t.is((await get(`/publishers?identifier=${address}`)).json().count, 1)
  }
  t.is((await get('/publishers?identifier=')).json().count, 0)
  t.is((await get(`/publishers?identifier=${ALICE.address}&scheme=other`)).json().count, 0)
})
