import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'ava'
import { ConfigError } from '../../../../src/errors.ts'
import { createLogger } from '../../../../src/log.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { startFake, startGateway } from '../../../helpers/gateway.ts'
import { manualClock } from '../../../helpers/manual-clock.ts'
import { type RunningService, startRegistry } from '../../../helpers/registry.ts'
import { temporaryFolder, temporaryStore } from '../../../helpers/run-cli.ts'
import { ALICE, postJson, publish } from '../../../helpers/seller.ts'

const ADMIN = { Authorization: 'Bearer admin-secret' }
const environment = { REGISTRY_ADMIN_API_KEY: 'admin-secret' }
const bothGates = {
  ...environment,
  REGISTRY_REQUIRE_READ_API_KEY: 'on',
  REGISTRY_REQUIRE_WRITE_API_KEY: 'YES',
}

const mint = async (url: string, body: unknown, headers: Record<string, string> = ADMIN) =>
  postJson(`${url}/admin/api-keys`, JSON.stringify(body), headers)

const OPEN_GATES = { REGISTRY_REQUIRE_READ_API_KEY: 'false', REGISTRY_REQUIRE_WRITE_API_KEY: 'off' }

function captureLog() {
  const lines: Record<string, unknown>[] = []
  return { log: createLogger('info', { write: (line) => void lines.push(JSON.parse(line)) }), lines }
}

const rotate = async (url: string, body: unknown, headers: Record<string, string> = ADMIN) =>
  postJson(`${url}/admin/api-keys/rotate`, JSON.stringify(body), headers)

const bearer = (key: unknown): Record<string, string> => ({ Authorization: `Bearer ${key}` })

test('API keys: the raw key is only in the minting response, and revoking is final', async (t) => {
  const { url, get } = await startRegistry(t, { environment })
  const minted = await mint(url, { name: '  alice ', more: 1 })
  t.is(minted.status, 201)
  const { key, created_at, ...rest } = minted.json()
  t.deepEqual(rest, { id: 1, name: 'alice', scope: 'read', expires_at: null })
  t.regex(String(key), /^[A-Za-z0-9_-]{43}$/)
  await mint(url, { name: 'bob', scope: 'write' })

  const listed = await get('/admin/api-keys', ADMIN)
  t.is(listed.headers.get('cache-control'), 'no-store')
  t.false(listed.text.includes(String(key)))
  const keys = JSON.parse(listed.text) as Record<string, unknown>[]
  t.deepEqual(
    keys.map(({ id }) => id),
    [2, 1],
    'newest first',
  )
  t.deepEqual(keys[1], {
    id: 1,
    name: 'alice',
    scope: 'read',
    created_at,
    expires_at: null,
    revoked_at: null,
    last_used_at: null,
    calls: 0,
  })

  const revoke = (id: string) => fetch(`${url}/admin/api-keys/${id}`, { method: 'DELETE', headers: ADMIN })
  t.is((await revoke('1')).status, 204)
  const revokedAt = async () =>
    (JSON.parse((await get('/admin/api-keys', ADMIN)).text) as { revoked_at: string }[])[1]!.revoked_at
  const first = await revokedAt()
  t.truthy(first)
  t.is((await revoke('1.0')).status, 204, 'revoking again is no error')
  t.is(await revokedAt(), first, 'and keeps the first time')
  const unknown = await revoke('999')
  t.is(unknown.status, 404)
  t.is(((await unknown.json()) as { detail: string }).detail, 'API key 999 not found')
  for (const numeral of ['99999999999999999999', '-99999999999999999999', '9'.repeat(400)])
    t.is((await revoke(numeral)).status, 404, numeral)
  t.is((await revoke('abc')).status, 422)
})

test('admin routes: 401 with the details of the protocol', async (t) => {
  const closed = await startRegistry(t)
  t.is(
    (await closed.get('/admin/api-keys', ADMIN)).json().detail,
    'Admin endpoints disabled — REGISTRY_ADMIN_API_KEY not set',
  )
  const { url, get } = await startRegistry(t, { environment })
  const details: [Record<string, string>, string][] = [
    [{}, 'Admin bearer token required'],
    [{ Authorization: 'bearer admin-secret' }, 'Admin bearer token required'],
    [bearer('wrong'), 'Invalid admin token'],
    [bearer('wr\u00f6ng'), 'Invalid admin token'],
  ]
  for (const [headers, detail] of details) {
    const reply = await get('/admin/api-keys', headers)
    t.is(reply.status, 401)
    t.is(reply.json().detail, detail)
    t.is(reply.headers.get('www-authenticate'), 'Bearer')
  }
  const minted = (await mint(url, { name: 'alice', scope: 'write' })).json()
  t.is((await get('/admin/api-keys', bearer(minted.key))).status, 401, 'an API key is no admin key')
})

const REFUSED: [name: string, body: unknown, message: RegExp][] = [
  ['no name', {}, /body.name: Field required/],
  ['an empty name', { name: '' }, /body.name: String should have at least 1 character$/],
  ['a name of blanks', { name: ' \t\u00a0' }, /body.name: String should have at least 1 character$/],
  ['a name of 129 characters', { name: 'x'.repeat(129) }, /at most 128 characters/],
  ['a numeric name', { name: 5 }, /valid string/],
  ['another scope', { name: 'a', scope: 'root' }, /body.scope: Input should be 'read' or 'write'/],
  ['a null scope', { name: 'a', scope: null }, /body.scope: Input should be 'read' or 'write'/],
  ['a role as a scope', { name: 'a', scope: 'admin' }, /body.scope: Input should be 'read' or 'write'/],
  ['another role', { name: 'a', role: 'read' }, /body.role: Input should be 'metrics' or 'admin'/],
  [
    'a scope and a role',
    { name: 'a', scope: 'read', role: 'admin' },
    /body.role: A key has a scope or a role/,
  ],
  ['a role and a view', { name: 'a', role: 'metrics', view: 'all' }, /body.view: Only a key with a scope/],
  ['the name of another operator', { name: ' operator', role: 'admin' }, /body.name: No admin key has/],
  ['the name of a local user', { name: 'local:root@host', role: 'admin' }, /body.name: No admin key has/],
  ['no days', { name: 'a', expires_in_days: 0 }, /body.expires_in_days: .* 1 to 3650/],
  ['half a day', { name: 'a', expires_in_days: 0.5 }, /number of days/],
  ['too many days', { name: 'a', expires_in_days: 3651 }, /number of days/],
  ['an array', [], /valid dictionary/],
]
test('API keys: minting is refused with what is wrong; a name of 128 code points is not', async (t) => {
  const { url, get } = await startRegistry(t, { environment })
  for (const [name, body, message] of REFUSED) {
    const reply = await mint(url, body)
    t.is(reply.status, 422, name)
    t.regex(reply.json().detail as string, message, name)
  }
  t.is((await get('/admin/api-keys', ADMIN)).text, '[]')
  t.is((await mint(url, { name: '🚀'.repeat(128) })).status, 201)
  t.is((await mint(url, { name: ' ann \t' })).json().name, 'ann', 'a name is trimmed')
})

test('API keys: an expired key is refused on every replica, with the day of its expiry', async (t) => {
  const clock = manualClock()
  const STORE_URL = temporaryStore(t)
  const one = await startRegistry(t, { environment: { ...bothGates, STORE_URL }, clock })
  const minted = (await mint(one.url, { name: 'a', scope: 'write', expires_in_days: 30 })).json()
  t.is(minted.expires_at, '2026-12-20T12:00:00.000000')
  const other = await startRegistry(t, { environment: { ...bothGates, STORE_URL }, clock })
  const replicas = [one, other]
  const reads = () => Promise.all(replicas.map(({ get }) => get('/listings', bearer(minted.key))))
  t.deepEqual(
    (await reads()).map(({ status }) => status),
    [200, 200],
  )
  clock.set(30 * 86_400_000 - 1)
  t.deepEqual(
    (await reads()).map(({ status }) => status),
    [200, 200],
  )
  clock.set(1)
  for (const reply of await reads()) {
    t.is(reply.status, 401)
    t.is(reply.json().detail, 'The API key expired on 2026-12-20: ask the operator for a new one')
  }
})

test('API keys: calls and last use are counted at once, and saved once a minute', async (t) => {
  const clock = manualClock()
  const STORE_URL = temporaryStore(t)
  const one = await startRegistry(t, { environment: { ...bothGates, STORE_URL }, clock })
  const { key } = (await mint(one.url, { name: 'a' })).json()
  const other = await startRegistry(t, { environment: { ...bothGates, STORE_URL }, clock })
  const useAt = async ({ get }: RunningService) => {
    const [{ calls, last_used_at }] = JSON.parse((await get('/admin/api-keys', ADMIN)).text)
    return [calls, last_used_at]
  }
  for (const path of ['/listings', '/listings', '/filter-spec']) await one.get(path, bearer(key))
  await other.get('/listings', bearer(key))
  await other.get('/listings', bearer('unknown'))
  t.deepEqual(await useAt(one), [3, '2026-11-20T12:00:00.000000'])
  t.deepEqual(await useAt(other), [1, '2026-11-20T12:00:00.000000'])
  clock.advance(60_000)
  for (const replica of [one, other]) {
    const use = await eventually(
      'counted',
      () => useAt(replica),
      ([calls]) => calls === 4,
    )
    t.deepEqual(use, [4, '2026-11-20T12:00:00.000000'])
  }
})

test('gates: a missing, wrong, revoked and read-only key get different details', async (t) => {
  const { url, get } = await startRegistry(t, { environment: bothGates })
  const read = (await mint(url, { name: 'buyer' })).json()
  const write = (await mint(url, { name: 'seller', scope: 'write' })).json()

  t.is((await get('/health')).status, 200, 'health is never gated')
  for (const path of ['/listings', '/filter-spec', '/listings/x', '/publishers']) {
    t.is((await get(path)).json().detail, 'API key required', path)
    t.is((await get(path, bearer('nope'))).json().detail, 'Invalid or revoked API key', path)
    t.not((await get(path, bearer(read.key))).status, 401, path)
    t.not((await get(path, bearer(write.key))).status, 401, path)
  }
  const offer = { listing_id: 'one' }
  t.is((await publish(url, ALICE, offer)).status, 401)
  const readOnly = await publish(url, ALICE, offer, { headers: bearer(read.key) })
  t.is(readOnly.status, 403)
  t.is(readOnly.json().detail, 'Write access requires a write-scoped API key')
  t.is((await publish(url, ALICE, offer, { headers: bearer(write.key) })).status, 201)
  const ann = (await mint(url, { name: 'ann', role: 'admin' })).json()
  for (const headers of [ADMIN, bearer(ann.key)]) {
    const refused = await get('/listings', headers)
    t.is(refused.status, 401, 'an admin key opens no data route of a plain Registry')
    t.regex(String(refused.json().detail), /^The admin key does not open this/)
    t.is((await get('/admin/api-keys', headers)).status, 200)
  }

  for (const { id } of [write, ann])
    await fetch(`${url}/admin/api-keys/${id}`, { method: 'DELETE', headers: ADMIN })
  t.is((await get('/admin/api-keys', bearer(ann.key))).status, 401)
  t.is(
    (await publish(url, ALICE, offer, { headers: bearer(write.key) })).json().detail,
    'Invalid or revoked API key',
  )
  t.is((await get('/listings', bearer(read.key))).json().count, 1, 'and its listings stay')
})

test('gates: a key that cannot be read is refused where a key would reveal more', async (t) => {
  const fake = await startFake(t)
  const upstream = { name: 'vault', url: fake.url, settings: 'visibility = "private"' }
  const { url, get } = await startGateway(t, [upstream], { environment })
  const { key } = (await mint(url, { name: 'buyer' })).json()
  for (const path of ['/listings', '/sources']) {
    for (const Authorization of [`bearer ${key}`, `BEARER\t${key}`, 'Bearer', String(key)]) {
      const { status, json } = await get(path, { Authorization })
      t.is(status, 401, Authorization)
      t.regex(String(json().detail), /^Authorization has no readable API key: write Bearer KEY/)
    }
    for (const headers of [
      {},
      { Authorization: '' },
      { Authorization: 'Basic c29tZTpwcm94eQ==' },
      bearer(key),
    ])
      t.is((await get(path, headers)).status, 200, JSON.stringify(headers))
  }
  const plain = await startRegistry(t)
  for (const Authorization of ['bearer nope', 'Bearer nope'])
    t.is((await plain.get('/listings', { Authorization })).status, 200, 'while no gate is on')
})

test('gates: a metrics key opens /metrics and nothing else, also while reads are open', async (t) => {
  const clock = manualClock()
  const { url, get } = await startRegistry(t, { environment, clock })
  const { key } = (await mint(url, { name: 'prometheus', role: 'metrics', expires_in_days: 1 })).json()
  const { key: reader } = (await mint(url, { name: 'buyer' })).json()
  t.is((await get('/metrics', bearer(key))).status, 200)
  for (const path of ['/listings', '/filter-spec', '/listings/x', '/api/v1/system/stats'])
    t.like((await get(path, bearer(key))).json(), {
      status: 403,
      detail: 'An API key with the role metrics opens GET /metrics only',
    })
  t.is((await publish(url, ALICE, { listing_id: 'one' }, { headers: bearer(key) })).status, 403)
  t.is((await get('/admin/api-keys', bearer(key))).status, 401)
  t.is((await get('/metrics', bearer(reader))).status, 403)
  t.is((await get('/metrics', bearer('nope'))).json().detail, 'Invalid or revoked API key')
  clock.set(86_400_000)
  t.regex(String((await get('/metrics', bearer(key))).json().detail), /^The API key expired on/)
  const keys = JSON.parse((await get('/admin/api-keys', ADMIN)).text) as { calls: number }[]
  t.is(keys[1]?.calls, 1)
})

test('bootstrap key: another value at the next start counts, revokes the one before it, and is a line of the log', async (t) => {
  const STORE_URL = temporaryStore(t)
  const start = async (key: string) => {
    const { log, lines } = captureLog()
    const service = await startRegistry(t, {
      environment: { ...bothGates, STORE_URL, REGISTRY_BOOTSTRAP_API_KEY: key },
      log,
    })
    const statuses = await Promise.all(
      ['first', 'second'].map(async (one) => (await service.get('/listings', bearer(one))).status),
    )
    const written = await publish(service.url, ALICE, { listing_id: 'one' }, { headers: bearer(key) })
    t.is(written.status === 201, statuses.includes(200), 'it may write')
    const logged = lines.filter(({ msg }) => String(msg).startsWith('bootstrap key'))
    return { statuses, logged: logged.map(({ id, revoked }) => [id, revoked]) }
  }
  t.deepEqual(await start('first'), { statuses: [200, 401], logged: [[1, []]] })
  t.deepEqual(await start('first'), { statuses: [200, 401], logged: [] })
  t.deepEqual(await start('second'), { statuses: [401, 200], logged: [[2, [1]]] })
  t.deepEqual(await start('second'), { statuses: [401, 200], logged: [] })
  t.deepEqual(
    await start('first'),
    { statuses: [401, 401], logged: [[1, [2]]] },
    'a revoked key stays revoked',
  )
  t.deepEqual(await start('first'), { statuses: [401, 401], logged: [[1, []]] }, 'and is named at each start')
})

test('gates: an admin key opens what REGISTRY_ADMIN_API_KEY opens, and mints no admin key', async (t) => {
  const clock = manualClock()
  const secret = { name: 'secret', url: (await startFake(t)).url, settings: 'visibility = "private"' }
  const { get, url } = await startGateway(t, [secret], {
    environment: { ...environment, REGISTRY_REQUIRE_WRITE_API_KEY: 'on' },
    clock,
  })
  const namesIn = async (path: string, headers = {}): Promise<unknown> =>
    ((await get(path, headers)).json().sources as { registry: string }[]).map(({ registry }) => registry)
  const minted = await mint(url, { name: 'ann', role: 'admin', expires_in_days: 1 })
  t.is(minted.status, 201)
  const ann = bearer(minted.json().key)
  for (const path of ['/sources', '/listings', '/facets', '/vocabulary'])
    t.deepEqual(await namesIn(path), ['local'], path)
  for (const headers of [ADMIN, ann]) {
    for (const path of ['/sources', '/listings', '/facets', '/vocabulary'])
      t.deepEqual(await namesIn(path, headers), ['local', 'secret'], path)
    for (const path of ['/admin/api-keys', '/admin/sources', '/admin/replicas', '/admin/blocks', '/metrics'])
      t.is((await get(path, headers)).status, 200, path)
    t.is((await publish(url, ALICE, { listing_id: 'one' }, { headers })).status, 401, 'it writes nothing')
  }
  t.is((await mint(url, { name: 'buyer' }, ann)).status, 201)
  const refused = await mint(url, { name: 'eve', role: 'admin' }, ann)
  t.is(refused.status, 403)
  t.regex(String(refused.json().detail), /^An admin key mints no admin keys/)
  const body = JSON.stringify({ subject: ALICE.address, reason: 'spam' })
  t.is((await postJson(`${url}/admin/blocks`, body, ann)).json().by, 'ann')
  t.is((await postJson(`${url}/admin/blocks`, body, ADMIN)).json().by, 'operator')

  clock.advance(86_400_000)
  t.regex(String((await get('/admin/api-keys', ann)).json().detail), /^The API key expired on/)
  const [buyer] = JSON.parse((await get('/admin/api-keys', ADMIN)).text) as { calls: number }[]
  t.is(buyer?.calls, 0)
  const keys = JSON.parse((await get('/admin/api-keys', ADMIN)).text) as { name: string; calls: number }[]
  t.true(keys.find(({ name }) => name === 'ann')!.calls >= 8)
})

test('gates: an admin key opens nothing while REGISTRY_ADMIN_API_KEY is unset', async (t) => {
  const STORE_URL = temporaryStore(t)
  const secret = { name: 'secret', url: (await startFake(t)).url, settings: 'visibility = "private"' }
  const first = await startRegistry(t, { environment: { ...environment, STORE_URL } })
  const ann = bearer((await mint(first.url, { name: 'ann', role: 'admin' })).json().key)
  const { url, get } = await startGateway(t, [secret], { environment: { STORE_URL } })
  const statuses = async (headers: Record<string, string>) =>
    Promise.all(
      ['/admin/api-keys', '/admin/audit', '/metrics'].map(async (path) => (await get(path, headers)).status),
    )
  t.deepEqual(await statuses(ann), [401, 401, 403])
  t.is(
    (await get('/admin/api-keys', ann)).json().detail,
    'Admin endpoints disabled — REGISTRY_ADMIN_API_KEY not set',
  )
  t.is((await mint(url, { name: 'eve' }, ann)).status, 401)
  t.is((await get('/sources', ann)).status, 401)
})

test('API keys: minting says what the next start would say', async (t) => {
  const warningOf = async (environment: Record<string, string>, body: object = { name: 'a' }) => {
    const { url } = await startRegistry(t, { environment })
    return (await mint(url, body)).headers.get('warning')
  }
  t.regex(
    String(await warningOf(environment)),
    /^299 - "No gate asks for a key, and the next start ends with 78/,
  )
  t.is(await warningOf(environment, { name: 'a', role: 'admin' }), null)
  t.is(await warningOf({ ...environment, ...OPEN_GATES }), null)
  t.is(await warningOf(bothGates), null)
})

test('gates: a store with keys is not opened while no gate is set, and opened with a warning where both are off', async (t) => {
  const STORE_URL = temporaryStore(t)
  const gated = await startRegistry(t, { environment: { ...bothGates, STORE_URL } })
  await mint(gated.url, { name: 'a', scope: 'read' })
  const refused = await t.throwsAsync(startRegistry(t, { environment: { STORE_URL } }), {
    instanceOf: ConfigError,
  })
  t.regex(refused!.problems[0]!.message, /^the store has 1 API key, and no gate asks for one/)
  t.regex(
    refused!.problems[0]!.message,
    /set it to true, or REGISTRY_REQUIRE_WRITE_API_KEY, or both to false$/,
  )
  const half = { STORE_URL, REGISTRY_REQUIRE_READ_API_KEY: 'false' }
  await t.throwsAsync(startRegistry(t, { environment: half }), { instanceOf: ConfigError })
  const { log, lines } = captureLog()
  const open = await startRegistry(t, { environment: { STORE_URL, ...OPEN_GATES }, log })
  t.is((await open.get('/listings')).status, 200)
  t.deepEqual(
    lines.flatMap(({ msg, setting }) => (msg === 'configuration warning' ? [setting] : [])),
    ['REGISTRY_REQUIRE_READ_API_KEY'],
  )
  const secret = `[[upstreams]]\nname = "a"\nurl = "${(await startFake(t)).url}"\nvisibility = "private"\n`
  await t.notThrowsAsync(startRegistry(t, { environment: { STORE_URL }, toml: secret }))
})

test('API keys: a key of the file counts while it is there, at its view and until its last day, and is changed there alone', async (t) => {
  const folder = await temporaryFolder(t)
  const file = join(folder, 'keys.toml')
  const hash = (key: string) => createHash('sha256').update(key).digest('hex')
  const declare = (keys: string) => writeFileSync(file, keys)
  const entry = (key: string, more = '') => `[[keys]]\nname = "${key}"\nhash = "${hash(key)}"\n${more}\n`
  const toml = `[keys]\nfile = "${file}"\n`
  const clock = manualClock(Date.parse('2026-11-20T10:00:00Z'))
  declare(
    entry('reader') +
      entry('writer', 'scope = "write"\nexpires = "2026-11-21"') +
      entry('boss', 'role = "admin"'),
  )
  const { url, get, reload } = await startRegistry(t, { environment: bothGates, toml, clock })
  const status = async (key: string, path = '/listings') => (await get(path, bearer(key))).status
  t.deepEqual([await status('reader'), await status('writer'), await status('carol')], [200, 200, 401])
  t.is((await publish(url, ALICE, { listing_id: 'a' }, { headers: bearer('reader') })).status, 403)
  t.is((await publish(url, ALICE, { listing_id: 'a' }, { headers: bearer('writer') })).status, 201)
  t.is(await status('boss', '/admin/api-keys'), 200)
  const listed = JSON.parse((await get('/admin/api-keys', ADMIN)).text) as {
    id: number
    declared?: boolean
    name: string
  }[]
  t.deepEqual(
    listed.map(({ name, declared }) => [name, declared]),
    [
      ['reader', true],
      ['writer', true],
      ['boss', true],
    ],
  )
  t.false(JSON.stringify(listed).includes(hash('reader')))
  const { id } = listed[0]!
  t.is((await fetch(`${url}/admin/api-keys/${id}`, { method: 'DELETE', headers: ADMIN })).status, 409)
  t.is((await rotate(url, { name: 'reader' })).status, 409)
  clock.advance(2 * 86_400_000)
  t.deepEqual([await status('reader'), await status('writer')], [200, 401])
  declare(entry('writer'))
  t.is(await status('reader'), 200, 'before the reload')
  await reload(toml)
  t.deepEqual([await status('reader'), await status('writer')], [401, 200])
})

test('API keys: a file that cannot be used refuses the start with its line', async (t) => {
  const folder = await temporaryFolder(t)
  const file = join(folder, 'keys.toml')
  const good = `[[keys]]\nname = "a"\nhash = "${'a'.repeat(64)}"\n`
  for (const [text, problem] of [
    [`${good}scop = "read"`, /keys\.toml:4: keys\[0\]\.scop: unknown setting; did you mean scope\?/],
    [
      `${good}view = "nothing"`,
      /keys\.toml:4: keys\[0\]\.view: there is no view 'nothing'; known are all, public/,
    ],
    [
      `${good}role = "admin"\nview = "all"`,
      /keys\.toml:5: keys\[0\]\.view: Only a key with a scope has a view; remove it/,
    ],
    [
      `${good}scope = "read"\nrole = "admin"`,
      /keys\.toml:5: keys\[0\]\.role: A key has a scope or a role, not both; remove one/,
    ],
    [`${good}scope = "admin"`, /keys\.toml:4: keys\[0\]\.scope: expected one of read, write/],
    [`${good}expires = "soon"`, /keys\.toml:4: keys\[0\]\.expires: expected a day/],
    [`${good}${good}`, /keys\.toml:6: keys\[1\]\.hash: also the hash of keys\[0\]/],
    ['[[keys]]\nname = "a"\nhash = "abc"', /keys\.toml:3: keys\[0\]\.hash: expected the SHA-256/],
    ['[[keys]', /keys\.toml: not TOML/],
  ] as const) {
    writeFileSync(file, text)
    const error = await t.throwsAsync(startRegistry(t, { toml: `[keys]\nfile = "${file}"` }), {
      instanceOf: ConfigError,
    })
    t.regex(error!.message, problem)
  }
  const missing = startRegistry(t, { toml: '[keys]\nfile = "nowhere.toml"' })
  t.regex(
    (await t.throwsAsync(missing, { instanceOf: ConfigError }))!.message,
    /nowhere\.toml: cannot be read: no such file/,
  )
})

test('API keys: rotating one mints another like it, and the old one ends after the overlap', async (t) => {
  const clock = manualClock(Date.parse('2026-11-20T10:00:00Z'))
  const { url, get } = await startRegistry(t, { environment: bothGates, clock })
  const { key: old } = (await mint(url, { name: 'alice', scope: 'write', view: 'public' })).json()
  const rotated = await rotate(url, { name: 'alice', overlap_seconds: 60 })
  t.is(rotated.status, 201)
  const { key, replaces, ...about } = rotated.json()
  t.like(about, { id: 2, name: 'alice', scope: 'write', view: 'public', expires_at: null })
  t.deepEqual(replaces, { id: 1, expires_at: '2026-11-20T10:01:00.000000' })
  const statuses = async () =>
    Promise.all([old, key].map(async (one) => (await get('/listings', bearer(one))).status))
  t.deepEqual(await statuses(), [200, 200])
  const again = await rotate(url, { name: 'alice' })
  t.is(again.status, 409)
  t.regex(again.text, /2 active keys .*2 and 1: revoke all but one/)
  clock.advance(60_000)
  t.deepEqual(await statuses(), [401, 200])
  t.is((await rotate(url, { name: 'alice', overlap_seconds: 0 })).status, 201)
  t.is((await rotate(url, { name: 'bob' })).status, 404)
  t.is((await rotate(url, { name: 'alice', overlap_seconds: -1 })).status, 422)
  const { key: boss } = (await mint(url, { name: 'boss', role: 'admin' })).json()
  t.is((await rotate(url, { name: 'boss' }, bearer(boss))).status, 403)
})
