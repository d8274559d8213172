import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import test, { type ExecutionContext } from 'ava'
import { createLogger } from '../../../src/log.ts'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import { damageHeader } from '../../helpers/damaged-database.ts'
import { eventually } from '../../helpers/eventually.ts'
import { gatewayToml } from '../../helpers/gateway.ts'
import { manualClock } from '../../helpers/manual-clock.ts'
import { limitFileSize } from '../../helpers/process-limits.ts'
import { ownRedis, redisClient } from '../../helpers/redis.ts'
import { ADMIN, type Reply, type RunningService, send, startRegistry } from '../../helpers/registry.ts'
import { temporaryFolder } from '../../helpers/run-cli.ts'
import { ALICE, mintKey, publish, unixNow } from '../../helpers/seller.ts'
import { startProcess } from '../../helpers/service-process.ts'
import { keyNamed } from '../../helpers/store/subject.ts'
import { startTcpProxy } from '../../helpers/tcp-proxy.ts'

const INFO = 30
const MINUTE = 60_000
/** Of `[keys]`: the default of `trust_seconds`. */
const TRUST = 5 * MINUTE

type Options = Parameters<typeof startRegistry>[1] & { storeUrl: string }

type Line = { msg: string; level: number } & Record<string, unknown>

/** The service, with its log lines about the store. */
async function start(t: ExecutionContext, { storeUrl, environment, ...options }: Options) {
  const lines: Line[] = []
  const log = createLogger('info', { write: (line) => lines.push(JSON.parse(line)) })
  const service = await startRegistry(t, {
    log,
    environment: { STORE_URL: storeUrl, REGISTRY_ADMIN_API_KEY: 'admin', ...environment },
    ...options,
  })
  const storeEvents = () =>
    lines
      .filter(({ msg }) => msg.startsWith('store '))
      .map(({ msg, reason }) => [msg, ...(reason === undefined ? [] : [reason])])
  return { ...service, lines, storeEvents }
}

/** The stores that did not exist, by the log: a mistyped URL begins an empty market. */
const creations = ({ lines }: { lines: readonly Line[] }): unknown[] =>
  lines.filter(({ msg }) => msg === 'new store created').map(({ store }) => store)

const answers = async ({ get }: RunningService, path: string, status: number): Promise<boolean> =>
  (await get(path)).status === status

function unverified(t: ExecutionContext, reply: Reply): void {
  t.is(reply.status, 503)
  t.is(reply.headers.get('retry-after'), '5')
  t.regex(
    String(reply.json().detail),
    /^(API keys cannot be verified: the store has not answered for 300 s|This API key cannot be verified: it is not known here)/,
  )
}

/** Two replicas on one Redis, the second of which can be cut off from it. */
async function startReplicas(t: ExecutionContext, environment: Record<string, string> = {}) {
  const redis = await ownRedis(t)
  const proxy = await startTcpProxy(Number(new URL(redis.url).port))
  t.teardown(() => proxy.close())
  const clock = manualClock()
  const near = await start(t, { storeUrl: redis.url, environment })
  const far = await start(t, { storeUrl: `redis://127.0.0.1:${proxy.port}`, environment, clock })
  return { near, far, proxy, clock }
}

test('store outage: without Redis a key is good for trust_seconds, then refused, then accepted again', async (t) => {
  const { near, far, proxy, clock } = await startReplicas(t, { REGISTRY_REQUIRE_READ_API_KEY: 'true' })
  const [kept, revoked] = await Promise.all([mintKey(near.url), mintKey(near.url)])
  const scraper = await mintKey(near.url, { role: 'metrics' })
  const read = ({ bearer }: typeof kept) => far.get('/listings', bearer)
  await eventually(
    'both keys are good',
    async () => (await read(kept)).status === 200 && (await read(revoked)).status === 200,
  )

  proxy.cut()
  const revoking = await send(`${near.url}/admin/api-keys/${revoked.id}`, {
    method: 'DELETE',
    headers: ADMIN,
  })
  t.true(revoking.status < 300)
  await eventually('/health answers 503', () => answers(far, '/health', 503))
  const unknown = { ...kept, bearer: { Authorization: 'Bearer unknown' } }
  clock.advance(MINUTE)
  t.is((await read(unknown)).status, 401, 'all keys of a minute ago are known')
  clock.advance(1)
  unverified(t, await read(unknown))
  clock.advance(TRUST - MINUTE - 1)
  t.is((await read(kept)).status, 200, 'verified within trust_seconds')
  t.is((await read(revoked)).status, 200, 'the revocation is not known here')
  t.is((await far.get('/ready')).status, 200)
  clock.advance(1)
  for (const one of [kept, revoked, unknown]) unverified(t, await read(one))
  t.is((await far.get('/ready')).status, 503)
  t.is((await far.get('/live')).status, 200)
  const { text: metrics } = await far.get('/metrics', scraper.bearer)
  t.regex(metrics, /^entrepot_store_available 0$/m)
  t.regex(metrics, /^entrepot_store_failures_total\{operation="ping"\} [1-9]/m)
  t.is((await far.get('/listings')).status, 401, 'the read gate answers 401')
  t.is((await near.get('/listings', kept.bearer)).status, 200)
  t.is((await near.get('/ready')).status, 200)

  proxy.mend()
  await eventually('/ready answers 200', () => answers(far, '/ready', 200))
  await eventually('/health answers 200', () => answers(far, '/health', 200))
  t.is((await read(kept)).status, 200)
  t.is((await read(revoked)).status, 401)
  t.like(
    far.lines.find(({ msg }) => msg === 'store unavailable'),
    { writes: 'refused', reads: 'from memory' },
  )
  t.deepEqual(far.storeEvents(), [['store unavailable', 'Redis does not answer'], ['store available']])
  t.deepEqual(near.storeEvents(), [])
  t.deepEqual([creations(near).length, creations(far)], [1, []], 'the first process has made the store')
})

test('store outage: without Redis open reads work, reads with a key are refused', async (t) => {
  const { near, far, proxy, clock } = await startReplicas(t)
  const upstreams = [{ name: 'near', url: near.url }]
  const storeUrl = `redis://127.0.0.1:${proxy.port}`
  const open = await start(t, { storeUrl, toml: gatewayToml(upstreams, PURE), clock })
  const environment = { REGISTRY_REQUIRE_READ_API_KEY: 'true' }
  const gated = await start(t, { storeUrl, toml: gatewayToml(upstreams, PURE), clock, environment })
  t.is((await publish(near.url, ALICE, { listing_id: 'one' })).status, 201)
  const { bearer } = await mintKey(near.url)
  await eventually('one listing', async () => (await far.get('/listings')).json().count === 1)
  t.is((await far.get('/listings', bearer)).status, 200)
  proxy.cut()
  await eventually('/health answers 503', () => answers(far, '/health', 503))
  clock.advance(TRUST + 1)
  unverified(t, await far.get('/listings', bearer))
  unverified(t, await far.get('/listings/one', bearer))
  t.is((await far.get('/ready')).status, 503, 'the listings of its own Registry may be old')
  t.is((await gated.get('/ready')).status, 503, 'it can answer no reader')
  t.is((await open.get('/ready')).status, 200, 'it answers from its upstreams')
  t.is((await open.get('/listings')).json().count, 1)
  clock.advance(MINUTE)
  const age = async () => JSON.parse((await open.get('/sources')).text).sources[0].age_seconds
  await eventually('pulled without Redis', age, (seconds) => seconds < 60)
  await eventually('logged', () => open.storeEvents().length > 0)
  const faults = open.lines.filter(({ level, upstream, snapshot_of: of }) => level > INFO && (upstream ?? of))
  t.deepEqual(faults, [], 'what Redis cannot share is no fault of the upstream')
  t.is((await far.get('/listings')).json().count, 1)
  t.is((await far.get('/listings/one')).status, 200)
  t.is((await publish(far.url, ALICE, { listing_id: 'two' })).status, 503)
})

/** No Registry of its own. */
const PURE = '[registry]\nenabled = false\n'

test('store outage: keys are verified at once after a clock jump', async (t) => {
  const clock = manualClock()
  const service = await start(t, { storeUrl: 'sqlite::memory:', clock })
  const { bearer } = await mintKey(service.url)
  for (const ms of [10 * MINUTE, -5 * MINUTE]) {
    clock.advance(ms)
    t.is((await service.get('/listings', bearer)).status, 200)
    t.is((await service.get('/ready')).status, 200)
  }
})

test('store outage: while every new signature is refused, /health and the log give the reason', async (t) => {
  const path = join(temporaryFolder(t), 'entrepot.db')
  await openSqliteStore(path).close()
  const database = new DatabaseSync(path)
  const tomorrow = (unixNow() + 86_400) * 1_000_000
  database
    .prepare("INSERT INTO row (space, key, value, created_at, at) VALUES ('facts', 'dropped uses', ?, 1, 1)")
    .run(JSON.stringify({ expiredBy: tomorrow, closedAt: 0 }))
  database.close()
  const service = await start(t, { storeUrl: `sqlite:${path}` })
  t.is((await publish(service.url, ALICE, { listing_id: 'one' })).status, 409)
  const { status, text } = await service.get('/health')
  t.is(status, 503)
  t.regex(text, /the clock is 23 h behind signatures that were used .* set the clock right/)
  t.like(service.storeEvents(), [['store unavailable']])
})

/** `spoil` makes the store fail, and gives what repairs it. */
async function refusesWritesMeanwhile(
  t: ExecutionContext,
  { storeUrl, spoil, reason }: { storeUrl: string; spoil: () => Promise<() => unknown>; reason: string },
): Promise<void> {
  const service = await start(t, { storeUrl })
  const publishing = async (id: string) => (await publish(service.url, ALICE, { listing_id: id })).status
  t.is(await publishing('one'), 201)
  t.is(creations(service).length, 1)
  const repair = await spoil()
  for (let n = 0; n < 3; n++) {
    t.is(await publishing(`refused-${n}`), 503)
    t.is((await service.get('/health')).status, 503)
    t.is((await service.get(`/listings?limit=${n + 1}`)).json().count, 1)
  }
  for (const path of ['/live', '/ready']) t.is((await service.get(path)).status, 200)
  await repair()
  await eventually('/health answers 200', () => answers(service, '/health', 200))
  t.is(await publishing('two'), 201)
  await eventually('two events', () => service.storeEvents().length > 1)
  t.deepEqual(service.storeEvents(), [['store unavailable', reason], ['store available']])
}

for (const [what, reason, spoil] of [
  [
    'damaged',
    'file is not a database',
    (path: string) => {
      const repair = damageHeader(path)
      return async () => {
        repair()
        const other = openSqliteStore(path)
        await other.addKey(keyNamed('from another process'))
        await other.close()
      }
    },
  ],
  [
    'moved',
    'the database file was moved, replaced or deleted while it was open; put it back, or restart the service',
    (path: string) => {
      renameSync(path, `${path}.away`)
      return () => renameSync(`${path}.away`, path)
    },
  ],
] as const)
  test(`store outage: a ${what} database file refuses writes and serves reads until it is repaired`, async (t) => {
    const path = join(temporaryFolder(t), 'entrepot.db')
    await refusesWritesMeanwhile(t, { storeUrl: `sqlite:${path}`, reason, spoil: async () => spoil(path) })
  })

test('store outage: a read-only Redis refuses writes and serves reads until it is writable', async (t) => {
  const { url: storeUrl } = await ownRedis(t)
  const operator = redisClient(t, storeUrl)
  const spoil = async () => {
    await operator.replicaof('127.0.0.1', 1)
    return () => operator.replicaof('NO', 'ONE')
  }
  await refusesWritesMeanwhile(t, { storeUrl, reason: 'Redis answered READONLY', spoil })
})

test('store outage: a Redis that was emptied is in the log, with the listings before and now', async (t) => {
  const redis = await ownRedis(t)
  const operator = redisClient(t, redis.url)
  const { url, get, lines } = await start(t, { storeUrl: redis.url })
  for (const listing_id of ['one', 'two']) t.is((await publish(url, ALICE, { listing_id })).status, 201)
  await operator.flushall()
  t.is((await publish(url, ALICE, { listing_id: 'three' })).status, 201)
  t.is((await get('/listings')).json().count, 1)
  t.like(
    lines.filter(({ msg }) => msg.startsWith('changelog lost')),
    [{ before: 2, now: 1 }],
  )
})

test('store outage: a full disk refuses writes and serves reads', async (t) => {
  const path = join(temporaryFolder(t), 'entrepot.db')
  const { url, pid, end, logged } = await startProcess(`sqlite:${path}`, { METRICS_PUBLIC: 'true' })
  t.teardown(() => end('SIGKILL'))
  const note = 'x'.repeat(40_000)
  const publishing = async (n: number) =>
    (await publish(url, ALICE, { listing_id: `L${n}`, offer_resource: { note } })).status
  const available = async () =>
    /^entrepot_store_available (\d)$/m.exec((await send(`${url}/metrics`)).text)?.[1]
  t.is(await available(), '1')
  const unavailable = logged('store unavailable')
  await limitFileSize(pid, 1024 * 1024)
  let published = 0
  while ((await publishing(published)) === 201) published++
  t.true(published > 0)
  t.regex(String((await unavailable)[0]?.reason), /disk/)
  const rest = logged(['store unavailable', 'store available'])
  t.is((await send(`${url}/health`)).status, 503)
  t.is(await available(), '0')
  t.is((await send(`${url}/listings`)).json().count, Math.min(published, 50))
  t.is((await send(`${url}/live`)).status, 200)
  await limitFileSize(pid, null)
  t.is((await rest)[0]?.msg, 'store available')
  t.is((await send(`${url}/health`)).status, 200)
  t.is(await publishing(published), 201)
})
