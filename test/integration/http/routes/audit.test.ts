import test, { type ExecutionContext } from 'ava'
import { StoreUnavailable } from '../../../../src/store/rows.ts'
import { openSqliteStore } from '../../../../src/store/sqlite/store.ts'
import type { AuditEntryJson } from '../../../../src/wire/audit.ts'
import { startFake, startGateway } from '../../../helpers/gateway.ts'
import { ADMIN, type RunningService, send, startRegistry } from '../../../helpers/registry.ts'
import { ALICE, mintKey, postJson, publish, remove, unixNow, update } from '../../../helpers/seller.ts'

const environment = { REGISTRY_ADMIN_API_KEY: 'admin' }
const WALLET = ALICE.address.toLowerCase()

async function auditOf({ get }: Pick<RunningService, 'get'>, query = 'since=2000-01-01T00:00Z') {
  const reply = await get(`/admin/audit?${query}`, ADMIN)
  if (reply.status !== 200) throw new Error(reply.text)
  return { text: reply.text, entries: JSON.parse(reply.text) as AuditEntryJson[] }
}

const briefly = ({ by, act, subject, result }: AuditEntryJson) => `${by} ${act} ${subject} ${result}`

test('audit: it says which operator did what, and holds no key', async (t) => {
  const upstream = { name: 'eu', url: (await startFake(t)).url }
  const service = await startGateway(t, [upstream], { environment })
  const { url, get } = service
  const { key, bearer: ann } = await mintKey(url, { name: 'ann', role: 'admin' })
  const post = (path: string, body: object = {}) =>
    postJson(`${url}/admin/${path}`, JSON.stringify(body), ann)
  const spam = { subject: ALICE.address, reason: 'spam' }
  t.is((await post('blocks', spam)).status, 201)
  t.is((await post('blocks', { ...spam, source: 'eu' })).status, 201)
  t.is((await post('blocks', { ...spam, subject: 'https://user:secret@a.example' })).status, 422)
  t.is((await send(`${url}/admin/blocks/1`, { method: 'DELETE', headers: ann })).status, 204)
  t.is((await post('api-keys', { name: 'eve', role: 'admin' })).status, 403)
  t.is((await post('sources/eu/probe')).status, 200)
  t.is((await post('sources/nope/refresh')).status, 404)
  t.is((await post('reload')).status, 200)
  for (const headers of [{ Authorization: 'Bearer wrong' }, ADMIN])
    await send(`${url}/admin/api-keys/1`, { method: 'DELETE', headers })
  await service.context.reloadBySignal()

  const { text, entries } = await auditOf(service)
  t.deepEqual(entries.slice(0, -1).map(briefly), [
    'operator key.mint key 1: ann (admin) ok',
    `ann block.add ${WALLET} ok`,
    `ann block.add ${WALLET} in eu ok`,
    'ann block.add  invalid',
    `ann block.end block 1 of ${WALLET} ok`,
    'ann key.mint eve (admin) forbidden',
    'ann source.probe eu ok',
    'ann source.refresh nope not_found',
    'ann reload  ok',
    'operator key.revoke key 1: ann (admin) ok',
  ])
  t.regex(briefly(entries.at(-1)!), /^local:[^ ]+@[^ ]+ reload SIGHUP ok$/)
  t.is(entries.at(-1)!.client, null)
  for (const { client, kind, publisher } of entries.slice(0, -1)) {
    t.regex(client!, /^[0-9a-f]{12}$/, 'hashed')
    t.deepEqual([kind, publisher], ['operator', null])
  }
  t.deepEqual(entries.map(({ key_id }) => key_id).slice(0, 2), [null, 1])
  for (const secret of [key, 'Bearer', 'secret', 'wrong']) t.false(text.includes(secret), secret)
  const metrics = (await get('/metrics', ADMIN)).text
  t.true(metrics.includes('entrepot_refused_keys_total{gate="admin"} 1\n'), 'a refused key is counted')
  t.true(metrics.includes('entrepot_refused_keys_total{gate="read"} 0\n'))
})

test('audit: pages go on behind the last entry, and without a time the latest are answered', async (t) => {
  const service = await startRegistry(t, { environment: { ...environment, LOG_CLIENTS: 'true' } })
  for (let n = 1; n <= 5; n++) await mintKey(service.url, { name: `k${n}` })
  const { entries } = await auditOf(service)
  t.is(entries.length, 5)
  t.is(entries[0]!.client, '127.0.0.1')
  const paged: AuditEntryJson[] = []
  for (let since = entries[0]!.at; ; ) {
    const page = await auditOf(service, `since=${since}&limit=2`)
    paged.push(...page.entries)
    if (page.entries.length < 2) break
    since = page.entries.at(-1)!.at
  }
  t.deepEqual(paged, entries.slice(1))
  t.deepEqual((await auditOf(service, 'limit=2')).entries, entries.slice(-2))
  t.deepEqual((await auditOf(service, 'since=2100-01-01T00:00Z')).entries, [])
  for (const query of ['since=yesterday', 'limit=0', 'limit=1001'])
    t.is((await service.get(`/admin/audit?${query}`, ADMIN)).status, 422, query)
  const { bearer } = await mintKey(service.url, { scope: 'write' })
  t.is((await service.get('/admin/audit', bearer)).status, 401)
})

/** Publishes, changes and deletes; one publish is refused, and one has no signature. */
async function sell(t: ExecutionContext, { url }: RunningService, options: Parameters<typeof publish>[3]) {
  t.is((await publish(url, ALICE, { listing_id: 'a b' }, options)).status, 201)
  t.is((await update(url, 'a b', { status: 'closed' }, options)).status, 200)
  t.is((await publish(url, ALICE, { listing_id: 'x', status: 'odd' }, options)).status, 400)
  t.is((await publish(url, ALICE, { listing_id: 'y', signature: 'none' }, options)).status, 401)
  t.is((await remove(url, 'a b', options)).status, 204)
}

test('audit: writes of sellers are recorded where that is set, by wallet and key', async (t) => {
  const service = await startRegistry(t, {
    environment: { ...environment, REGISTRY_REQUIRE_WRITE_API_KEY: 'on' },
  })
  const { bearer: headers } = await mintKey(service.url, { name: 'shop', scope: 'write' })
  await sell(t, service, { headers })
  t.deepEqual((await auditOf(service)).entries.map(briefly), ['operator key.mint key 1: shop (write) ok'])

  await service.reload('[audit]\nwrites = true\n')
  await sell(t, service, { headers, timestamp: unixNow() - 10 })
  t.is((await publish(service.url, ALICE, { listing_id: 'z' })).status, 401)
  const { entries } = await auditOf(service)
  t.deepEqual(entries.slice(1).map(briefly), [
    'shop listing.publish a b ok',
    'shop listing.update a b ok',
    'shop listing.publish x bad_request',
    'shop listing.delete a b ok',
  ])
  for (const entry of entries.slice(1)) t.like(entry, { kind: 'seller', publisher: WALLET, key_id: 1 })
})

test('audit: an act counts although it could not be recorded', async (t) => {
  const store = openSqliteStore(':memory:')
  store.appendAudit = () => Promise.reject(new StoreUnavailable('full'))
  const { url, get } = await startRegistry(t, { environment, store })
  const { bearer } = await mintKey(url, { name: 'ann', role: 'admin' })
  t.is((await get('/admin/audit', bearer)).text, '[]')
})

test('audit: every route that writes names its act', async (t) => {
  const { context } = await startGateway(t, [{ name: 'eu', url: (await startFake(t)).url }], { environment })
  const silent = context.routes.filter(
    ({ gate, method, act }) => method !== 'GET' && ['admin', 'write'].includes(gate) && act === undefined,
  )
  t.deepEqual(
    silent.map(({ method, path }) => `${method} ${path}`),
    [],
  )
})
