import test from 'ava'
import { FIXED_TIME, openMarket } from '../../../helpers/market.ts'
import { ALICE, BOB, sign } from '../../../helpers/seller.ts'

const FULL = {
  listing_id: 'one',
  offer_resource: { gpu_model: 'H200' },
  accepted_escrows: [{ chain_name: 'anvil' }],
  demands: [{ arbiter: '0x1' }],
  max_duration_seconds: 3600,
  oracle_address: '0x2',
}
const { listing_id: _, ...FIELDS } = FULL

test('upsert: null or absent is the default of a new listing, and keeps a member of an old one', async (t) => {
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
  await publish({ ...FULL, status: 'closed' })
  for (const [n, kept] of [nulls, {}].entries()) {
    t.is((await publish({ listing_id: 'one', ...kept }, FIXED_TIME - 1 - n)).status, 201)
    t.like(await listing('one'), { ...FIELDS, status: 'closed' })
  }
  const empty = {
    offer_resource: {},
    accepted_escrows: [],
    demands: [],
    max_duration_seconds: 0,
    oracle_address: '',
    status: 'open',
  }
  await publish({ listing_id: 'one', ...empty }, FIXED_TIME - 3)
  t.like(await listing('one'), empty)
})

test("upsert: the storefront URL is the publisher's, and an empty one is served only if there is no other", async (t) => {
  const { publish, listing, get } = await openMarket(t)
  const [a, b] = ['https://a.example/', 'https://b.example/']
  for (const [n, [storefront_url, served]] of (
    [
      ['', ''],
      [null, ''],
      [undefined, ''],
      [a, a],
      [b, b],
      ['', b],
      [null, b],
      [undefined, b],
    ] as const
  ).entries()) {
    await publish({ listing_id: n % 2 === 0 ? 'even' : 'odd', storefront_url }, FIXED_TIME - n)
    t.is((await listing('even'))?.storefront_url, served, `${n}`)
    const { items } = (await get('/publishers')).json() as { items: { storefront_url: unknown }[] }
    t.is(items[0]?.storefront_url, served, `${n}`)
  }
})

const ESCROW = { chain_name: 'base', escrow_address: '0xaa', literal_fields: {}, rates: [] }
const inEscrow = (wrong: object) => [ESCROW, { ...ESCROW, ...wrong }]

/** Members of another JSON type than the protocol has, and the path that names them. */
const WRONG_TYPES: readonly (readonly [member: string, value: unknown, path?: string])[] = [
  ['offer_resource', '{"gpu_model":"H200"}'],
  ['offer_resource', []],
  ['offer_resource', 5],
  ['accepted_escrows', {}],
  ['accepted_escrows', '[]'],
  ['accepted_escrows', [ESCROW, 'a'], 'accepted_escrows.1'],
  ['accepted_escrows', inEscrow({ chain_name: 5 }), 'accepted_escrows.1.chain_name'],
  ['accepted_escrows', inEscrow({ escrow_address: 0x5 }), 'accepted_escrows.1.escrow_address'],
  ['accepted_escrows', inEscrow({ literal_fields: [] }), 'accepted_escrows.1.literal_fields'],
  ['accepted_escrows', inEscrow({ literal_fields: { token: 5 } }), 'accepted_escrows.1.literal_fields.token'],
  ['accepted_escrows', inEscrow({ rates: {} }), 'accepted_escrows.1.rates'],
  ['accepted_escrows', inEscrow({ rates: ['a'] }), 'accepted_escrows.1.rates.0'],
  ['accepted_escrows', inEscrow({ rates: [{ value: 5 }] }), 'accepted_escrows.1.rates.0.value'],
  ['demands', {}],
  ['demands', 'none'],
  ...['3600', 1.5, true, [], {}, [1]].map((value) => ['max_duration_seconds', value] as const),
  ...[5, [], {}].map((value) => ['oracle_address', value] as const),
  ['storefront_url', 5],
]

test('publish: a member of another JSON type is 422 with its path, and nothing is written', async (t) => {
  const { publish, get } = await openMarket(t)
  for (const [member, value, path = member] of WRONG_TYPES) {
    const reply = await publish({ listing_id: 'one', [member]: value })
    t.is(reply.status, 422, path)
    const [violation] = reply.json().errors as { path: string }[]
    t.is(violation?.path, `body.${path}`)
  }
  t.is((await get('/listings?status=')).json().total_after_filter, 0)
  const nulls = inEscrow({ rates: null, literal_fields: { token: null } })
  t.is((await publish({ listing_id: 'one', demands: [5, null], accepted_escrows: nulls })).status, 201)
})

test('upsert: a number as listing id is its digits, limits count code points, and unknown members are ignored', async (t) => {
  const { publish, listing } = await openMarket(t)
  t.is((await publish({ listing_id: 12, scheme: null })).json().listing_id, '12')
  t.truthy(await listing('12'))
  t.is((await publish({ listing_id: '🚀'.repeat(200), scheme: '', banana: [1] })).status, 201)
  t.truthy(await listing('🚀'.repeat(200)))
  const storefront_url = `https://a.example/${'x'.repeat(2048)}`
  for (const [status, fields] of [
    [400, { listing_id: 0 }],
    [400, { listing_id: false }],
    [422, { listing_id: '🚀'.repeat(201) }],
    [422, { listing_id: 'one', storefront_url }],
    [422, { listing_id: '\ud800' }],
  ] as const)
    t.is((await publish(fields)).status, status, JSON.stringify(fields).slice(0, 50))
})

test('update: changes only status and oracle, each to what it is given', async (t) => {
  const { publish, update, listing } = await openMarket(t)
  await publish(FULL)
  const { updated_at: before, status: _status, oracle_address: _oracle, ...rest } = (await listing('one'))!
  for (const [n, [fields, status, oracle_address]] of (
    [
      [{}, 'open', '0x2'],
      [{ status: 'closed', offer_resource: {}, storefront_url: 'x' }, 'closed', '0x2'],
      [{ oracle_address: '0x3' }, 'closed', '0x3'],
      [{ status: 'expired', oracle_address: null }, 'expired', null],
      [{ status: 'open' }, 'open', null],
    ] as const
  ).entries()) {
    const reply = await update('one', fields, FIXED_TIME - n)
    t.is(reply.status, 200)
    const { updated_at } = reply.json()
    t.deepEqual(reply.json(), { listing_id: 'one', status, updated_at })
    t.true(String(updated_at) > String(before))
    t.deepEqual(await listing('one'), { ...rest, status, oracle_address, updated_at })
  }
})

test('update: another status, or an oracle that is no text, is refused and changes nothing', async (t) => {
  const { publish, update, listing } = await openMarket(t)
  await publish(FULL)
  const before = await listing('one')
  for (const oracle_address of [[], {}, 5, true]) {
    const reply = await update('one', { oracle_address, status: 'closed' })
    t.is(reply.status, 422)
    t.deepEqual(reply.json().errors, [
      { path: 'body.oracle_address', message: 'Input should be a valid string' },
    ])
  }
  for (const [status, shown] of [
    [null, 'None'],
    ['Open', 'Open'],
    ['', ''],
    [5, '5'],
  ]) {
    const reply = await update('one', { status, oracle_address: '0x9' })
    t.is(reply.status, 400)
    t.is(reply.json().detail, `Invalid status: ${shown}`)
  }
  t.deepEqual(await listing('one'), before)
})

test('update, delete: an unknown listing is 404 before the signature is checked, and after the form', async (t) => {
  const { url, update, remove } = await openMarket(t)
  t.is((await update('nope', { status: 'closed' })).status, 404)
  t.is((await update('nope', { status: 'nonsense' }, FIXED_TIME - 9000)).status, 404)
  t.is((await remove('nope')).json().detail, 'Listing not found')
  for (const [method, query, body, status] of [
    ['PUT', '', '{"signature":"junk","timestamp":1}', 404],
    ['PUT', '', '[]', 422],
    ['DELETE', '', null, 404],
    ['DELETE', '?signature=junk&timestamp=1', null, 404],
    ['DELETE', '?timestamp=1', null, 404],
    ['DELETE', '?timestamp=x', null, 422],
  ] as const) {
    const reply = await fetch(`${url}/listings/nope${query}`, { method, body: body && Buffer.from(body) })
    t.is(reply.status, status, `${method} ${query} ${body}`)
  }
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
