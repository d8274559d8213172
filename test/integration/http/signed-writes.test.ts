import { randomUUID } from 'node:crypto'
import test, { type ExecutionContext } from 'ava'
import { publisherOf } from '../../../src/signing/principal.ts'
import { block } from '../../helpers/blocks.ts'
import { eventually } from '../../helpers/eventually.ts'
import { listingText } from '../../helpers/fake-registry.ts'
import { patientToml, startFake, startPatientGateway } from '../../helpers/gateway.ts'
import { startRegistry } from '../../helpers/registry.ts'
import {
  ALICE,
  BOB,
  mintKey,
  postJson,
  publish,
  publishBody,
  remove,
  unixNow,
  update,
} from '../../helpers/seller.ts'
import { ed25519Key, rotationBody, walletKey } from '../../helpers/signed-line.ts'
import {
  AUTHORITY,
  authorityEnvironment,
  type Changes,
  readSigned,
  sendSigned,
} from '../../helpers/signed-reader.ts'
import { identityToml, signedSettings } from '../../helpers/signed-registry.ts'

const SELLER = walletKey(ALICE)
const NEXT = ed25519Key(Buffer.alloc(32, 31))
const LISTING = {
  listing_id: 'a b',
  storefront_url: 'http://storefront.example/',
  offer_resource: { gpu_model: 'H200', region: 'Reykjavik, IS' },
  settlement_options: [
    { option_id: '0'.repeat(64), mechanism: 'fiat.stripe.v1', asset: 'usd', rates: [], params: {} },
  ],
}

/** The first publisher changes its key, with an overlap of 100 s. */
const rotation = (now = unixNow()) =>
  rotationBody(SELLER, NEXT, {
    subject: 'publisher:1',
    nonce: 'n',
    overlap_seconds: 100,
    expires_at: now + 500,
  })

type Options = { environment?: Record<string, string>; toml?: string; now?: () => number }

async function start(t: ExecutionContext, { environment = {}, toml = '', now = unixNow }: Options = {}) {
  const service = await startRegistry(t, {
    environment: { ...authorityEnvironment(t), ...environment },
    toml,
    nowSeconds: now,
  })
  const send = (method: string, path: string, body?: unknown, changes: Changes = {}) =>
    sendSigned(service.url, method, path, body, { key: SELLER, timestamp: String(now()), ...changes })
  return { ...service, send, publish: (changes: Changes = {}) => send('POST', '/listings', LISTING, changes) }
}

test('signed writes: what is published has its options and its principals on the signed line, and is the same on the plain one', async (t) => {
  const { url, get, send, publish } = await start(t)
  const published = await publish()
  const identities = [SELLER.party]
  t.like(published, {
    status: 201,
    isSigned: true,
    body: { publisher_id: 1, publisher_principals: { identities } },
  })
  const { body } = await send('GET', '/listings/a%20b')
  t.like(body.listing, {
    listing_id: 'a b',
    publisher_principals: { identities },
    settlement_options: LISTING.settlement_options,
  })
  t.like((await get('/listings/a%20b')).json().listing as object, {
    settlement_options: LISTING.settlement_options,
    accepted_escrows: [],
  })
  const text = { ...LISTING, listing_id: 'text', settlement_options: null }
  t.is((await send('POST', '/listings', text)).status, 201)
  t.false((await get('/listings/text')).text.includes('settlement_options'))
  const wrong = { ...LISTING, listing_id: 'wrong', settlement_options: ['a'], demands: 'none' }
  t.like((await send('POST', '/listings', wrong)).body, {
    errors: [{ path: 'body.demands' }, { path: 'body.settlement_options.0' }],
  })
  const large = JSON.stringify(await publishBody(ALICE, { listing_id: 'poisoned', offer_resource: { a: 5 } }))
  const poisoned = large.replace('"a":5', '"a":9007199254740993')
  t.is((await postJson(`${url}/listings`, poisoned)).status, 201)
  t.is((await send('GET', '/listings/poisoned')).status, 404)
  t.is((await send('DELETE', '/listings/poisoned')).status, 204)
})

test('signed writes: an owner of the plain line owns the same listings on the signed one, and the other way round', async (t) => {
  const { url, send } = await start(t)
  await publish(url, ALICE, { listing_id: 'plain', offer_resource: {} })
  t.is((await send('PUT', '/listings/plain', { status: 'closed' })).status, 200)
  t.like((await send('POST', '/listings', { listing_id: 'signed' })).body, { publisher_id: 1 })
  t.is((await update(url, 'signed', { status: 'closed' })).status, 200)
  t.is((await remove(url, 'signed', { seller: BOB })).status, 401)
  t.is((await remove(url, 'signed')).status, 204)
})

test('signed writes: the form comes first, then the proof, the role, the request id and the API key', async (t) => {
  const { send, publish } = await start(t, {
    environment: { REGISTRY_REQUIRE_WRITE_API_KEY: 'true', REGISTRY_ADMIN_API_KEY: 'admin' },
  })
  const bad: Changes = { headers: { 'x-market-role': 'x' } }
  const asBuyer = { requestId: randomUUID(), role: 'buyer' }
  const nested = `${'['.repeat(2000)}${']'.repeat(2000)}`
  for (const [ask, status, isSigned, detail] of [
    [() => send('GET', '/listings?limit=x', undefined, bad), 422, false],
    [() => send('GET', '/listings?limit='), 422, false],
    [() => publish({ ...bad, body: '[' }), 422, false],
    [() => publish({ ...bad, body: '[]' }), 422, false],
    [() => publish({ ...bad, body: nested }), 400, false],
    [() => publish({ ...bad, body: '{"a":NaN}' }), 400, false, 'Body is not canonical JSON'],
    [() => publish(bad), 401, false, 'context_mismatch'],
    [() => publish(asBuyer), 403, true, 'role_not_authorized'],
    [() => send('POST', '/listings', { listing_id: 'b' }, asBuyer), 409, true, 'changed_reuse'],
    [() => publish(), 401, true, 'API key required'],
    [() => send('POST', '/listings', {}), 401, true, 'API key required'],
  ] as const) {
    const reply = await ask()
    t.like(reply, { status, isSigned, ...(detail && { body: { detail } }) }, `${ask}`)
  }
})

test('signed writes: the key is checked on a retry, too, and a refusal of the gate leaves nothing', async (t) => {
  const { url, publish } = await start(t, {
    environment: { REGISTRY_REQUIRE_WRITE_API_KEY: 'true', REGISTRY_ADMIN_API_KEY: 'admin' },
  })
  const { bearer } = await mintKey(url, { scope: 'write' })
  const headers = { authorization: bearer.Authorization }
  const requestId = randomUUID()
  t.is((await publish({ requestId, headers })).status, 201)
  t.like(await publish({ requestId }), { status: 401, isSigned: true })
  const again = await publish({ requestId, headers })
  t.like(again, { status: 201, isSigned: true })
  const refused = randomUUID()
  t.is((await publish({ requestId: refused })).status, 401)
  t.is((await publish({ requestId: refused, headers })).status, 201)
})

const NEW_KEY = (n: number) => ed25519Key(Buffer.alloc(32, 100 + n))

for (const [what, gate, changes] of [
  ['keys of their own', 'false', (n) => ({ key: NEW_KEY(n) })],
  ['keys of their own, and no API key', 'true', (n) => ({ key: NEW_KEY(n) })],
  ['false proofs', 'false', (n) => ({ key: NEW_KEY(n), headers: { 'x-market-signature': 'A'.repeat(86) } })],
] as const satisfies readonly (readonly [string, string, (n: number) => Changes])[])
  test(`signed writes: those of one address have its limit together, with ${what}`, async (t) => {
    const { url, publish } = await start(t, {
      toml: '[limits]\npublish_per_minute = 5\n',
      environment: { REGISTRY_REQUIRE_WRITE_API_KEY: gate, REGISTRY_ADMIN_API_KEY: 'admin' },
    })
    const statuses: number[] = []
    for (let n = 0; n < 8; n++) statuses.push((await publish(changes(n))).status)
    t.deepEqual(
      statuses.map((status) => status === 429),
      [false, false, false, false, false, true, true, true],
      statuses.join(),
    )
    const { bearer } = await mintKey(url, { scope: 'write' })
    const headers = { authorization: bearer.Authorization }
    t.not((await publish({ key: NEW_KEY(9), headers })).status, 429, 'an API key has a limit of its own')
  })

test('signed writes: a repeat gets the recorded answer whatever has changed since, for ten minutes', async (t) => {
  let now = unixNow()
  const { send, publish } = await start(t, { now: () => now })
  const requestId = randomUUID()
  const first = await publish({ requestId })
  t.is((await send('DELETE', '/listings/a%20b')).status, 204)
  now += 200
  const again = await publish({ requestId })
  t.is(again.text, first.text)
  t.is((await send('GET', '/listings/a%20b')).status, 404)
  now += 599
  t.is((await publish({ requestId })).text, first.text, 'the latest try counts')
  now += 601
  t.like(await publish({ requestId }), { status: 409, body: { detail: 'changed_reuse' } })
})

test('signed writes: a blocked publisher cannot take another identity', async (t) => {
  const { url, send, publish } = await start(t, { environment: { REGISTRY_ADMIN_API_KEY: 'admin' } })
  await publish()
  const block = JSON.stringify({ subject: ALICE.address, reason: 'ticket 812' })
  t.is((await postJson(`${url}/admin/blocks`, block, { Authorization: 'Bearer admin' })).status, 201)
  const refused = await send('POST', '/publishers/1/identity-rotations', await rotation())
  t.is(refused.status, 403)
  t.regex(JSON.stringify(refused.body), /has blocked this: ticket 812/)
})

test('signed writes: a key is changed without an outage, and a retired wallet is refused on both lines', async (t) => {
  let now = unixNow()
  const environment = { REGISTRY_ADMIN_API_KEY: 'admin' }
  const { url, get, send, publish: publishSigned } = await start(t, { now: () => now, environment })
  await publishSigned()
  const row = async () => (await send('GET', '/listings/a%20b')).body.listing
  for (let n = 0; n < 2; n++) t.deepEqual((await row()).publisher_principals, { identities: [SELLER.party] })
  const path = '/publishers/1/identity-rotations'
  t.like(await send('POST', path, await rotation(now)), {
    status: 200,
    body: { status: 'overlap', overlap_seconds: 100 },
  })
  t.deepEqual((await row()).publisher_principals, { identities: [NEXT.party, SELLER.party] })
  t.is(
    (await publish(url, ALICE, { listing_id: 'plain', offer_resource: {} }, { timestamp: now })).status,
    201,
  )
  t.is((await send('PUT', '/listings/plain', { status: 'closed' }, { key: NEXT })).status, 200)
  for (let n = 0; n < 2; n++)
    t.deepEqual((await row()).publisher_principals, { identities: [NEXT.party, SELLER.party] })
  now += 100
  t.deepEqual((await row()).publisher_principals, { identities: [NEXT.party] })
  t.is((await row()).publisher_id, 1)
  const refused = await publish(url, ALICE, { listing_id: 'plain', offer_resource: {} }, { timestamp: now })
  t.deepEqual([refused.status, refused.json().detail], [403, 'Publisher principal is retired or disabled'])
  t.is((await update(url, 'a b', { status: 'closed' }, { timestamp: now })).status, 401)
  const { body: read } = await send('GET', `${path}/n`)
  t.like(read, { status: 'retired', retired_at: null })
  const { body: publishers } = await send('GET', `/publishers?scheme=eip191&identifier=${ALICE.address}`)
  t.like(publishers.items[0]?.identities as object[], [
    { principal: NEXT.party, status: 'primary' },
    { principal: SELLER.party, status: 'retired', retired_at: null },
  ])
  const filter = `publisher_scheme=eip191&publisher_identifier=${ALICE.address}&status=`
  t.is((await send('GET', `/listings?${filter}`)).body.total_after_filter, 2)
  t.regex((await get('/publishers')).text, /"identities":\[\{"scheme":"ed25519"/)
  const block = JSON.stringify({ subject: ALICE.address, reason: 'r' })
  t.is((await postJson(`${url}/admin/blocks`, block, { Authorization: 'Bearer admin' })).status, 201)
  t.is(
    (await send('GET', `/listings?${filter}`)).body.total_after_filter,
    0,
    'blocked by the wallet of before',
  )
  t.is((await get('/listings/a%20b')).status, 404)
})

test('signed writes: a rotation is read by its nonce where the view has the publisher, and by its own keys', async (t) => {
  const { send, publish } = await start(t, {
    toml: '[access]\nanonymous = "h100"\n[[views]]\nname = "h100"\nfilter = { gpu_model = "H100" }\n',
  })
  await publish()
  const path = '/publishers/1/identity-rotations'
  t.is((await send('POST', path, await rotation())).status, 200)
  const read = (key: typeof SELLER) => send('GET', `${path}/n`, undefined, { key })
  t.deepEqual([(await read(SELLER)).status, (await read(NEXT)).status], [200, 200])
  t.like(await read(ed25519Key(Buffer.alloc(32, 90))), { status: 404, isSigned: true })
})

test('signed writes: limits are by principal, behind a wide one by address that cannot be signed', async (t) => {
  const { url, send } = await start(t, {
    toml: '[limits]\nprincipal_per_minute = 2\npublish_per_minute = 1',
    environment: { REGISTRY_ADMIN_API_KEY: 'admin' },
  })
  const read = (n: number) => send('GET', '/listings', undefined, { key: ed25519Key(Buffer.alloc(32, n)) })
  t.is((await read(1)).status, 200)
  t.is((await read(1)).status, 200)
  t.like(await read(1), { status: 429, isSigned: true })
  t.is((await send('POST', '/listings', LISTING)).status, 201)
  t.like(await send('POST', '/listings', LISTING), { status: 429, isSigned: false }, 'of its address')
  const { bearer } = await mintKey(url, { scope: 'write' })
  const headers = { authorization: bearer.Authorization }
  t.like(await send('POST', '/listings', LISTING, { headers }), { status: 429, isSigned: true })
  t.is(
    (await publish(url, ALICE, { listing_id: 'x', offer_resource: {} })).status,
    429,
    'one limit for both lines',
  )
  for (let n = 2; n < 36; n++) t.is((await read(n)).status, 200, String(n))
  const last = await read(90)
  t.like(last, { status: 429, isSigned: false })
  t.regex(String(last.body.detail), /of the signed line from this address/)
})

test('signed writes: with [access] plain = false the plain line is closed, but for probes and the operator', async (t) => {
  const { get, send } = await start(t, {
    toml: '[access]\nplain = false',
    environment: { REGISTRY_ADMIN_API_KEY: 'admin' },
  })
  for (const path of [
    '/listings',
    '/listings/x',
    '/filter-spec',
    '/publishers',
    '/',
    '/docs',
    '/openapi.json',
    '/facets',
    '/sources',
  ])
    t.true([401, 404].includes((await get(path)).status), path)
  t.deepEqual((await get('/filter-spec')).json(), { detail: 'context_mismatch' })
  for (const path of ['/live', '/ready', '/health', '/admin']) t.true((await get(path)).status < 400, path)
  t.is((await get('/admin/api-keys', { Authorization: 'Bearer admin' })).status, 200)
  t.is((await send('GET', '/listings')).status, 200)
})

test('signed reads: a single listing from a copy that is too old is a signed 503', async (t) => {
  const row = listingText({ listing_id: 'far', publisher_id: 7, storefront_url: 'http://s.example/' })
  const publishers: [number, string, string][] = [[7, BOB.address.toLowerCase(), 'http://s.example/']]
  const fake = await startFake(t, { items: [row], publishers })
  const up = { name: 'up', url: fake.url, settings: 'max_age_seconds = 1' }
  const { send } = await start(t, { toml: patientToml([up], '[cache]\nfresh_seconds = 0') })
  // Its publisher is known once the directory has been read.
  await eventually('it is found', async () => (await send('GET', '/listings/far')).status === 200)
  await fake.close()
  const reply = await eventually(
    'it is too old',
    () => send('GET', '/listings/far'),
    ({ status }) => status !== 200,
  )
  t.like(reply, { status: 503, isSigned: true })
  t.regex(String(reply.body.detail), /does not answer now/)
})

test('signed writes: a pure gateway refuses them, signed', async (t) => {
  const fake = await startFake(t)
  const toml = `${patientToml([{ name: 'up', url: fake.url }])}\n[registry]\nenabled = false`
  const { publish } = await start(t, { toml })
  t.like(await publish(), { status: 404, isSigned: true })
})

for (const overlap_seconds of [300, 0])
  test(`signed reads: at gateways a rotation with an overlap of ${overlap_seconds} s changes no number of a publisher, and both keys find and block its listings`, async (t) => {
    const upstream = await start(t)
    await upstream.publish()
    const settings = signedSettings(AUTHORITY.party.identifier)
    const environment = { ...authorityEnvironment(t), REGISTRY_ADMIN_API_KEY: 'admin' }
    const up = { name: 'up', url: upstream.url, settings: `${settings}refresh_seconds = 3600` }
    const startOne = () => startPatientGateway(t, [up], { environment, more: identityToml(t) })
    const one = await startOne()
    const { url } = one
    const read = async (at: string, query = '') => (await readSigned(at, `/listings${query}`)).body.items
    const by = async (at: string, { party }: typeof SELLER) =>
      (await read(at, `?publisher_scheme=${party.scheme}&publisher_identifier=${party.identifier}`)).length
    const [before] = await read(url)
    t.is(await by(url, SELLER), 1)
    const body = await rotationBody(SELLER, NEXT, { overlap_seconds })
    t.is((await upstream.send('POST', '/publishers/1/identity-rotations', body)).status, 200)
    const admin = { Authorization: 'Bearer admin' }
    await postJson(`${url}/admin/sources/up/refresh`, '', admin)
    const hasNext = ([row]: Awaited<ReturnType<typeof read>>): boolean =>
      JSON.stringify(row ?? null).includes(NEXT.party.identifier)
    await eventually('read again', () => read(url), hasNext)
    const plain = { name: 'one', url, settings: 'kind = "gateway"' }
    const above = await startPatientGateway(t, [plain], { environment, more: 'id = "above"' })
    // The last two have never seen the first key as the primary one.
    for (const gateway of [above, one, await startOne()]) {
      const at = gateway.url
      const [after] = await eventually('known', () => read(at), hasNext)
      t.deepEqual([await by(at, NEXT), await by(at, SELLER)], [1, 1])
      t.is(after?.publisher_id, before?.publisher_id)
      const { identities } = after!.publisher_principals as { identities: (typeof NEXT.party)[] }
      t.is(identities[0]?.identifier, NEXT.party.identifier, 'the primary one first')
      await block(gateway, { subject: publisherOf(SELLER.party) })
      t.deepEqual(await read(at), [])
    }
  })
