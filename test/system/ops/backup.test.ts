import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gunzipSync } from 'node:zlib'
import test, { type ExecutionContext } from 'ava'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import { ownRedis, redisClient } from '../../helpers/redis.ts'
import { send } from '../../helpers/registry.ts'
import { CLI, type Run, runCli, runShell, temporaryFile, temporaryFolder } from '../../helpers/run-cli.ts'
import { ALICE, mintKey, postJson, publishBody, unixNow, update } from '../../helpers/seller.ts'
import { type ServiceProcess, startProcess } from '../../helpers/service-process.ts'
import { readAll } from '../e2e/read-all.ts'
import { blockOf } from './operations-page.ts'

const ADMIN = 'admin-secret'
const BEFORE = 20
const TOML = '[limits]\npublish_per_minute = 0\n[[views]]\nname = "large"\nfilter = { gpu_count_min = 100 }\n'

async function start(t: ExecutionContext, storeUrl: string): Promise<ServiceProcess> {
  const file = temporaryFile(t, 'gateway.toml', TOML)
  const environment = {
    ENTREPOT_CONFIG: file,
    REGISTRY_ADMIN_API_KEY: ADMIN,
    REGISTRY_REQUIRE_WRITE_API_KEY: 'true',
  }
  const service = await startProcess(storeUrl, environment)
  t.teardown(() => service.end('SIGKILL'))
  return service
}

/** Runs a block of the page as an operator does. @returns what it prints */
async function run(t: ExecutionContext, block: string, env: Record<string, string>): Promise<unknown> {
  const script = `set -e\nentrepot() { ${CLI} "$@"; }\n${blockOf(`run=${block}`)}`
  const { code, stdout, stderr } = await runShell(script, { env })
  t.is(code, 0, stderr)
  return JSON.parse(stdout)
}

const bearer = (key = ADMIN) => ({ Authorization: `Bearer ${key}` })

/** Without the counts of their uses. */
async function keysOf({ url }: ServiceProcess) {
  const keys: Record<string, unknown>[] = JSON.parse(
    (await send(`${url}/admin/api-keys`, { headers: bearer() })).text,
  )
  return keys.map(({ calls, last_used_at, ...key }) => key)
}

/** What an operator did before the backup: a listing is taken down, a storefront was blocked for a while. */
async function curate({ url }: ServiceProcess, key: string): Promise<void> {
  const taken = JSON.stringify(await publishBody(ALICE, { listing_id: TAKEN_DOWN }))
  await postJson(`${url}/listings`, taken, bearer(key))
  const block = async (subject: string) => {
    const body = JSON.stringify({ subject, reason: 'ticket 812' })
    return (await postJson(`${url}/admin/blocks`, body, bearer())).json()
  }
  await block(`${ALICE.address}/${TAKEN_DOWN}`)
  const { id } = await block('https://scam.example')
  await send(`${url}/admin/blocks/${id}`, { method: 'DELETE', headers: bearer() })
}

const TAKEN_DOWN = 'taken-down'

const adminRead = async ({ url }: ServiceProcess, path: string): Promise<Record<string, unknown>[]> =>
  JSON.parse((await send(`${url}${path}`, { headers: bearer() })).text)

const RAW = '{"gpu_model":"H200", "gpu_count":8.0,"note":"\\u00fc ü" }'

/** Publishes until it is stopped. @returns the ids that were published so far, and a captured request */
async function publishing({ url }: ServiceProcess, key: string, at = unixNow()) {
  const signed = await publishBody(ALICE, {}, at)
  const ids: string[] = []
  let isOver = false
  const bodyOf = (id: string): string =>
    `${JSON.stringify({ ...signed, listing_id: id }).slice(0, -1)},"offer_resource":${RAW}}`
  const publish = async (id: string): Promise<void> => {
    const { status, text } = await postJson(`${url}/listings`, bodyOf(id), bearer(key))
    if (status !== 201) throw new Error(`a publish was answered ${status} ${text}`)
    ids.push(id)
  }
  for (let n = 0; n < BEFORE; n++) await publish(`before-${n}`)
  const going = (async () => {
    for (let n = 0; !isOver; n++) await publish(`meanwhile-${n}`)
  })()
  return {
    ids,
    captured: bodyOf('before-0'),
    stop: async () => {
      isOver = true
      await going
    },
  }
}

const texts = ({ url }: ServiceProcess, ids: readonly string[]): Promise<string[]> =>
  Promise.all(ids.map(async (id) => (await send(`${url}/listings/${id}`)).text))

/** Saves a store that is written meanwhile, restores it to the other one, and compares what both services answer. */
async function savesAndRestores(t: ExecutionContext, from: string, to: string): Promise<void> {
  const BACKUP = join(temporaryFolder(t), 'market.db')
  const live = await start(t, from)
  const alice = await mintKey(live.url, { name: 'alice', scope: 'write' }, ADMIN)
  const bob = await mintKey(live.url, { name: 'bob', scope: 'write' }, ADMIN)
  await send(`${live.url}/admin/api-keys/${bob.id}`, { method: 'DELETE', headers: bearer() })
  const { ids, captured, stop } = await publishing(live, alice.key)
  const partner = await mintKey(live.url, { name: 'partner', view: 'large' }, ADMIN)
  await curate(live, alice.key)
  await update(live.url, 'before-1', { status: 'closed' }, { headers: bearer(alice.key) })
  const before = [...ids]
  const [blocks, audit] = [await adminRead(live, '/admin/blocks'), await adminRead(live, '/admin/audit')]
  const saved = (await run(t, 'backup', { STORE_URL: from, BACKUP })) as Record<string, number>
  await stop()
  const lost = JSON.stringify(await publishBody(ALICE, { listing_id: 'lost' }))
  t.is((await postJson(`${live.url}/listings`, lost, bearer(alice.key))).status, 201)
  const all = await readAll(live.url)
  const answers = await texts(live, before)
  const keys = await keysOf(live)
  await live.end('SIGTERM')

  const restoredAt = (await run(t, 'restore', { STORE_URL: to, BACKUP })) as Record<string, unknown>
  t.like(restoredAt, { listings: saved.listings, publishers: 1, keys: 3, blocks: 2 })
  const restored = await start(t, to)
  const rows = await readAll(restored.url)
  t.is(rows.size, saved.listings! - 1, 'all but the one that was taken down')
  t.deepEqual(await texts(restored, before), answers)
  t.regex(answers[0]!, /"offer_resource":\{"gpu_model":"H200", "gpu_count":8\.0,"note":"\\u00fc ü" \}/)
  t.deepEqual(
    [...rows],
    [...all].filter(([id]) => rows.has(id)),
    'the same order',
  )
  t.deepEqual(await keysOf(restored), keys)
  t.deepEqual(await adminRead(restored, '/admin/blocks'), blocks)
  t.is((await send(`${restored.url}/listings/${TAKEN_DOWN}`)).status, 404)
  const again = JSON.stringify(await publishBody(ALICE, { listing_id: TAKEN_DOWN }, unixNow() + 60))
  t.is((await postJson(`${restored.url}/listings`, again, bearer(alice.key))).status, 403)
  t.like((await send(`${restored.url}/listings`, { headers: bearer(partner.key) })).json(), {
    total_after_filter: 0,
  })
  const acts = await adminRead(restored, '/admin/audit')
  const isSame = (act: object) => audit.some((one) => JSON.stringify(one) === JSON.stringify(act))
  t.deepEqual(acts.filter(isSame), audit)
  t.deepEqual(
    acts.filter((act) => !isSame(act)).map(({ act }) => act),
    ['restore'],
  )
  t.is((await postJson(`${restored.url}/listings`, captured, bearer(bob.key))).status, 401)
  for (const replay of [captured, captured.replace('H200', 'B200'), lost])
    t.is((await postJson(`${restored.url}/listings`, replay, bearer(alice.key))).status, 409)
  const later = await publishing(restored, alice.key, unixNow() + 60)
  await later.stop()
  t.true((await readAll(restored.url)).size >= rows.size, 'and the service continues')
}

test('backup: a live SQLite store is saved, and restored to a Redis', async (t) => {
  const redis = await ownRedis(t)
  await savesAndRestores(t, `sqlite:${join(temporaryFolder(t), 'live.db')}`, redis.url)
})

test('backup: a live Redis is saved, and restored to an SQLite file', async (t) => {
  const redis = await ownRedis(t)
  await savesAndRestores(t, redis.url, `sqlite:${join(temporaryFolder(t), 'new', 'restored.db')}`)
})

test('backup, restore: what cannot be done is refused, and changes nothing', async (t) => {
  const redis = await ownRedis(t)
  const folder = temporaryFolder(t)
  const at = (name: string): string => join(folder, name)
  const store = openSqliteStore(at('full.db'))
  // Larger than the log of a file that is only read.
  await store.addKey({ name: 'key'.repeat(20_000), scope: 'read', hash: 'h', expiresAt: null })
  await store.close()
  writeFileSync(at('notes.txt'), 'not a database, but long enough to be read as one'.repeat(100))
  new DatabaseSync(at('theirs.db')).exec('CREATE TABLE theirs (a)')
  for (const [name, fixture] of [
    ['older.db', '0.4.0-backup'],
    ['older-store.db', '0.4.0'],
  ] as const)
    writeFileSync(
      at(name),
      gunzipSync(readFileSync(new URL(`../../fixtures/stores/${fixture}.db.gz`, import.meta.url))),
    )
  const on = (storeUrl: string, command: string, file: string): Promise<Run> =>
    runCli([command, at(file)], { env: { STORE_URL: storeUrl } })
  const full = `sqlite:${at('full.db')}`

  // Another secret that cannot be read is not needed.
  const env = { STORE_URL: full, REGISTRY_ADMIN_API_KEY_FILE: '/nowhere/key', PORT: 'none' }
  t.is((await runCli(['backup', at('other.db')], { env })).code, 0)
  const saved = await on(full, 'backup', 'saved.db')
  t.deepEqual([saved.code, JSON.parse(saved.stdout).keys], [0, 1])
  t.regex(saved.stderr, /^entrepot: warning: sqlite:.*full\.db has no listings; is it the right store\?\n$/)
  const damaged = readFileSync(at('saved.db'))
  damaged.fill(0xff, 4096, 3 * 4096)
  writeFileSync(at('damaged.db'), damaged)
  // A connection that only reads leaves a log, which the record of the backup puts away where it can be written.
  const files = () => readdirSync(folder).filter((name) => !/-(wal|shm)$/.test(name))
  const before = files()
  t.deepEqual(
    before.filter((name) => name.includes('partial')),
    [],
  )

  for (const [storeUrl, command, file, code, message] of [
    [`sqlite:${at('typo.db')}`, 'backup', 'b.db', 78, /STORE_URL: .*typo\.db does not exist/],
    ['sqlite::memory:', 'backup', 'b.db', 78, /STORE_URL: a store in memory ends with its process/],
    [redis.url, 'backup', 'b.db', 78, /STORE_URL: Redis at .* has no store of entrepot/],
    [full, 'backup', 'saved.db', 1, /existing files are not overwritten: .*saved\.db; name another/],
    [full, 'backup', 'nowhere/b.db', 74, /nowhere\/b\.db cannot be written: ENOENT/],
    [
      full,
      'restore',
      'saved.db',
      78,
      /STORE_URL: existing files are not overwritten: .*full\.db(, .*full\.db-wal)?; stop the service/,
    ],
    [redis.url, 'restore', 'typo.db', 65, /typo\.db does not exist/],
    [redis.url, 'restore', 'older.db', 78, /older\.db was written by an older entrepot .*`entrepot sync`/],
    [redis.url, 'restore', 'older-store.db', 78, /older-store\.db was written by an older entrepot/],
    [redis.url, 'restore', 'notes.txt', 65, /notes\.txt cannot be opened: file is not a database/],
    [redis.url, 'restore', 'theirs.db', 65, /theirs\.db is the database of another program/],
    [
      redis.url,
      'restore',
      'damaged.db',
      65,
      /damaged\.db (is damaged|cannot be opened: database disk image)/,
    ],
  ] as const) {
    const refused = await on(storeUrl, command, file)
    t.is(refused.code, code, refused.stderr)
    t.regex(refused.stderr, message)
    t.is(refused.stdout, '')
  }
  const fullDisk = await runShell(`ulimit -f 64; ${CLI} backup '${at('b.db')}'`, { env: { STORE_URL: full } })
  t.is(fullDisk.code, 74, fullDisk.stderr)
  t.regex(fullDisk.stderr, /b\.db cannot be written: /)
  t.deepEqual(files(), before)

  const client = redisClient(t, redis.url)
  t.is(await client.dbsize(), 0)
  t.is((await on(redis.url, 'restore', 'saved.db')).code, 0)
  const again = await on(redis.url, 'restore', 'saved.db')
  t.is(again.code, 78)
  t.regex(
    again.stderr,
    /holds a store: stop the service and .*redis-cli --scan --pattern '\{entrepot\}:\*' \| xargs redis-cli unlink/,
  )
})
