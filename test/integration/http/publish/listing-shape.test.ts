import { readFileSync } from 'node:fs'
import test, { type ExecutionContext } from 'ava'
import { FIXED_TIME, openMarket } from '../../../helpers/market.ts'
import { type RunningService, startRegistry } from '../../../helpers/registry.ts'
import { temporaryFile, temporaryStore } from '../../../helpers/run-cli.ts'
import { ALICE, BOB, postJson, publish, unixNow } from '../../../helpers/seller.ts'

type Mode = 'off' | 'warn' | 'enforce'
const start = (t: ExecutionContext, mode: Mode): Promise<RunningService> =>
  startRegistry(t, { toml: `[registry]\nlisting_shape = "${mode}"` })

const GOOD = {
  listing_id: 'one',
  storefront_url: 'https://a.example/',
  offer_resource: { gpu_model: 'H200', region: 'Tokyo, JP', sla: null },
  accepted_escrows: [
    { chain_name: 'anvil', escrow_address: '0x1', literal_fields: { token: '0x2' }, rates: [] },
  ],
  max_duration_seconds: null,
}
const BAD = {
  listing_id: 'one',
  offer_resource: { gpu_model: 'Riva TNT', gpu_count: -1, gpu_interconnect: 'zz' },
  accepted_escrows: [],
}
const PUBLISHED_VIOLATIONS = [
  { path: '<root>', message: "must have required property 'storefront_url'" },
  { path: 'accepted_escrows', message: 'must NOT have fewer than 1 items' },
  { path: 'offer_resource', message: "must have required property 'region'" },
  { path: 'offer_resource.gpu_count', message: 'must be >= 0' },
  {
    path: 'offer_resource.gpu_interconnect',
    message: 'must be equal to one of the allowed values: nvlink, nvswitch, pcie_only, infiniband',
  },
]

test('listing shape: warn accepts a violating listing with every violation, enforce refuses it, off says nothing', async (t) => {
  for (const [mode, listing, status, member] of [
    ['off', BAD, 201, null],
    ['warn', BAD, 201, 'warnings'],
    ['enforce', BAD, 422, 'errors'],
    ['warn', GOOD, 201, null],
    ['enforce', GOOD, 201, null],
  ] as const) {
    const { url, get } = await start(t, mode)
    const reply = await publish(url, ALICE, listing)
    t.is(reply.status, status, mode)
    const { warnings = null, errors = null, detail } = reply.json()
    t.deepEqual(
      { warnings, errors },
      { warnings: null, errors: null, ...(member && { [member]: PUBLISHED_VIOLATIONS }) },
    )
    if (status === 422)
      t.regex(String(detail), /^The listing does not fit the listing shape: <root>: must have required prop/)
    const kept = status === 201 ? 1 : 0
    t.is((await get('/listings?status=')).json().count, kept)
    t.is((await get('/publishers')).json().count, kept)
  }
})

test('listing shape: checks the resulting listing, kept members included', async (t) => {
  const { url } = await start(t, 'enforce')
  const now = unixNow()
  t.is((await publish(url, ALICE, GOOD, { timestamp: now })).status, 201)
  const again = { listing_id: 'one', offer_resource: null, max_duration_seconds: 60 }
  t.is((await publish(url, ALICE, again, { timestamp: now - 1 })).status, 201)
  const second = { ...GOOD, listing_id: 'two', storefront_url: null }
  t.is((await publish(url, ALICE, second, { timestamp: now - 2 })).status, 201)
  const worse = { listing_id: 'one', accepted_escrows: [] }
  const refused = await publish(url, ALICE, worse, { timestamp: now - 3 })
  t.deepEqual(refused.json().errors, [
    { path: 'accepted_escrows', message: 'must NOT have fewer than 1 items' },
  ])
})

const ORACLE_VIOLATION = { path: 'oracle_address', message: 'must match pattern "^0x"' }

/** A shape that asks more of the oracle than a type. */
function withOracleShape(t: ExecutionContext): string {
  const shipped = readFileSync('config/filter-spec.yaml', 'utf8')
  const shape = shipped.replace(
    "oracle_address: {type: [string, 'null']}",
    "oracle_address: {pattern: '^0x'}",
  )
  return temporaryFile(t, 'filter-spec.yaml', shape)
}

test('listing shape: the oracle is checked on publish and on update', async (t) => {
  const environment = { REGISTRY_FILTER_SPEC_PATH: withOracleShape(t) }
  const toml = '[registry]\nlisting_shape = "enforce"'
  const { publish, update, listing } = await openMarket(t, { environment, toml })
  const refused = await publish({ ...GOOD, oracle_address: 'thing', accepted_escrows: [] })
  t.is(refused.status, 422)
  t.deepEqual(refused.json().errors, [
    { path: 'accepted_escrows', message: 'must NOT have fewer than 1 items' },
    ORACLE_VIOLATION,
  ])
  t.is((await publish({ ...GOOD, oracle_address: '0x1' })).status, 201)
  const before = await listing('one')
  const put = await update('one', { oracle_address: 'thing', status: 'closed' })
  t.is(put.status, 422)
  t.deepEqual(put.json().errors, [ORACLE_VIOLATION])
  t.deepEqual(await listing('one'), before)
  t.is((await update('one', { oracle_address: '0x2' })).status, 200)
  t.is((await update('one', { oracle_address: null }, FIXED_TIME - 1)).status, 200)
  t.is((await update('one', { status: 'closed' }, FIXED_TIME - 2)).status, 200)
})

test('listing shape: an update without oracle may close a violating listing', async (t) => {
  const environment = { STORE_URL: temporaryStore(t) }
  const lax = await openMarket(t, { environment })
  t.is((await lax.publish(BAD)).status, 201)
  const strict = await openMarket(t, { environment, toml: '[registry]\nlisting_shape = "enforce"' })
  t.is((await strict.publish(BAD)).status, 201, 'a repeat is answered as before')
  t.is((await strict.update('one', { oracle_address: '0x1' })).status, 422)
  t.is((await strict.update('one', { status: 'closed' })).status, 200)
})

const VALIDATE = '/api/v1/listings/validate-publish'
const validate = (url: string, body: unknown) => postJson(`${url}${VALIDATE}`, JSON.stringify(body))

test('validate-publish: reports what a publish would, and writes nothing', async (t) => {
  const { url, get } = await start(t, 'enforce')
  const reply = await validate(url, BAD)
  t.is(reply.status, 200)
  const published = (await publish(url, ALICE, { ...BAD, storefront_url: 'https://a.example/' })).json()
    .errors
  const sentences = (published as { path: string; message: string }[]).map(
    (one) => `${one.path}: ${one.message}`,
  )
  t.deepEqual(reply.json(), {
    valid: false,
    listing_id: 'one',
    offer_resource_type: 'compute',
    accepted_escrows_count: 0,
    // The URL is empty by default here.
    errors: [...sentences, 'storefront_url: must NOT have fewer than 1 characters'],
  })
  t.is((await get('/publishers')).json().count, 0)
})

const TYPES: [offer: unknown, type: string | null][] = [
  [{ gpu_model: 'H200' }, 'compute'],
  [{ region: null }, 'compute'],
  [{ token: '0x0' }, 'token'],
  [{ token: '0x0', region: 'a' }, 'compute'],
  [{ service_name: 'a' }, null],
  [{}, null],
]

test('validate-publish: a valid listing may have extra members and any integer; the kind of its offer is reported', async (t) => {
  const { url } = await start(t, 'off')
  for (const more of [{}, { oracle_address: 5, banana: [] }, { demands: [], max_duration_seconds: 3600 }]) {
    t.deepEqual((await validate(url, { ...GOOD, ...more })).json(), {
      valid: true,
      listing_id: 'one',
      offer_resource_type: 'compute',
      accepted_escrows_count: 1,
      errors: [],
    })
  }
  for (const [offer_resource, type] of TYPES)
    t.is((await validate(url, { ...GOOD, offer_resource })).json().offer_resource_type, type)
  const huge = JSON.stringify(GOOD).replace('seconds":null', 'seconds":1180591620717411303424')
  t.is((await postJson(`${url}${VALIDATE}`, huge)).json().valid, true)
})

const WRONG_TYPES: [member: string, value: unknown, message: string][] = [
  ['listing_id', undefined, 'Field required'],
  ['listing_id', 5, 'Input should be a valid string'],
  ['storefront_url', null, 'Input should be a valid string'],
  ['offer_resource', [], 'Input should be a valid dictionary'],
  ['offer_resource', null, 'Input should be a valid dictionary'],
  ['accepted_escrows', {}, 'Input should be a valid list'],
  ['demands', null, 'Input should be a valid list'],
  ['max_duration_seconds', 1.5, 'Input should be a valid integer'],
  ['max_duration_seconds', '3600', 'Input should be a valid integer'],
  ['max_duration_seconds', true, 'Input should be a valid integer'],
  ['max_duration_seconds', {}, 'Input should be a valid integer'],
]
test('validate-publish: a member of another type is 422, and every such item is named', async (t) => {
  const { url } = await start(t, 'warn')
  for (const [member, value, message] of WRONG_TYPES) {
    const reply = await validate(url, { ...GOOD, [member]: value })
    t.is(reply.status, 422)
    t.deepEqual(reply.json().errors, [{ path: `body.${member}`, message }], JSON.stringify(value))
  }
  t.deepEqual((await validate(url, { ...GOOD, accepted_escrows: [{}, 5, 'a'] })).json().errors, [
    { path: 'body.accepted_escrows.1', message: 'Input should be a valid dictionary' },
    { path: 'body.accepted_escrows.2', message: 'Input should be a valid dictionary' },
  ])
})

/** Within the limits of a body, with a violation for every two bytes. */
const crowded = (escrows: number) => ({
  listing_id: 'crowded',
  storefront_url: 'https://a.example/',
  offer_resource: {},
  accepted_escrows: Array(escrows).fill({ rates: Array(999).fill(1) }),
})
const TOO_LARGE = 'The listing would be larger than 65536 bytes as it is served'

test('listing shape: a listing that is too large is refused before its shape is checked', async (t) => {
  const { url, get } = await start(t, 'enforce')
  t.deepEqual((await validate(url, crowded(125))).json(), {
    valid: false,
    listing_id: 'crowded',
    offer_resource_type: null,
    accepted_escrows_count: 125,
    errors: [`body: ${TOO_LARGE}`],
  })
  const now = unixNow()
  const refused = await publish(url, ALICE, crowded(125), { timestamp: now })
  t.is(refused.status, 422)
  t.deepEqual(refused.json().errors, [{ path: 'body', message: TOO_LARGE }])
  t.is((await get('/publishers')).json().count, 0)
  await publish(url, ALICE, { ...GOOD, listing_id: 'crowded' }, { timestamp: now })
  t.is((await publish(url, ALICE, crowded(125), { timestamp: now })).status, 409)
  for (const bobs of [crowded(125), { ...BAD, listing_id: 'crowded', status: 'nope' }])
    t.is((await publish(url, BOB, bobs)).status, 403, 'the owner comes first')
})

test('listing shape: of very many violations the first thousand are described, and all are counted', async (t) => {
  const { url } = await start(t, 'enforce')
  // Each lacks three members.
  const short = { ...GOOD, accepted_escrows: Array(1000).fill({}) }
  const { errors } = (await validate(url, short)).json() as { errors: string[] }
  t.is(errors.length, 1001)
  t.true(errors.slice(0, -1).every((error) => error.startsWith('accepted_escrows[')))
  t.regex(errors.at(-1)!, /^<root>: and 2000 more violations$/)
})
