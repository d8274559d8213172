import { existsSync } from 'node:fs'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { type ListingBody, readAll } from '../e2e/read-all.ts'
import { type ServiceProcess, startProcess } from '../e2e/service-process.ts'
import { freePort } from '../helpers/free-port.ts'
import { startRedis } from '../helpers/redis.ts'
import { send } from '../helpers/registry.ts'
import { runShell, temporaryFile, temporaryFolder } from '../helpers/run-cli.ts'
import { ALICE, postJson, publishBody } from '../helpers/seller.ts'
import { blockOf } from './operations-page.ts'

const ADMIN = 'admin-secret'
const BEFORE = 50

async function start(t: ExecutionContext, storeUrl: string): Promise<ServiceProcess> {
  const file = temporaryFile(t, 'gateway.toml', '[limits]\npublish_per_minute = 0\n')
  const environment = { ENTREPOT_CONFIG: file, REGISTRY_ADMIN_API_KEY: ADMIN }
  const service = await startProcess(storeUrl, environment)
  t.teardown(() => service.end('SIGKILL'))
  return service
}

async function run(t: ExecutionContext, block: string, env: Record<string, string>): Promise<void> {
  const { code, stderr } = await runShell(`set -e\n${blockOf(`run=${block}`)}`, { env })
  t.is(code, 0, stderr)
}

async function mint({ url }: ServiceProcess): Promise<string> {
  const headers = { Authorization: `Bearer ${ADMIN}` }
  return String(
    (await postJson(`${url}/admin/api-keys`, '{"name":"alice","scope":"write"}', headers)).json().key,
  )
}

async function knows({ url }: ServiceProcess, key: string): Promise<boolean> {
  const headers = { Authorization: `Bearer ${ADMIN}` }
  const keys = JSON.parse((await send(`${url}/admin/api-keys`, { headers })).text) as { name: string }[]
  const read = await send(`${url}/listings`, { headers: { Authorization: `Bearer ${key}` } })
  return read.status === 200 && keys.some(({ name }) => name === 'alice')
}

/** Publishes until it is stopped. @returns the published listings */
async function publishing({ url }: ServiceProcess): Promise<{ ids: string[]; stop: () => Promise<void> }> {
  const signed = await publishBody(ALICE, {})
  const ids: string[] = []
  let isOver = false
  const publish = async (id: string): Promise<void> => {
    const { status } = await postJson(`${url}/listings`, JSON.stringify({ ...signed, listing_id: id }))
    if (status !== 201) throw new Error(`a publish was answered ${status}`)
    ids.push(id)
  }
  for (let n = 0; n < BEFORE; n++) await publish(`before-${n}`)
  const going = (async () => {
    for (let n = 0; !isOver; n++) await publish(`meanwhile-${n}`)
  })()
  return {
    ids,
    stop: async () => {
      isOver = true
      await going
    },
  }
}

/** After the restore: everything acknowledged before the backup, and nothing else, to the byte. */
function compare(
  t: ExecutionContext,
  restored: Map<string, ListingBody>,
  all: Map<string, ListingBody>,
  before: string[],
): void {
  t.deepEqual(
    before.filter((id) => !restored.has(id)),
    [],
  )
  for (const [id, row] of restored) t.deepEqual(row, all.get(id))
  t.log({ before: before.length, restored: restored.size, all: all.size })
}

test('backup: a live SQLite database is saved, and restored over another', async (t) => {
  const folder = temporaryFolder(t)
  const database = join(folder, 'entrepot.db')
  const env = { DATABASE: database, BACKUP: join(folder, 'backup.db') }
  const live = await start(t, `sqlite:${database}`)
  const key = await mint(live)
  const { ids, stop } = await publishing(live)
  const before = [...ids]
  await run(t, 'sqlite-backup', env)
  await stop()
  const all = await readAll(live.url)
  await live.end('SIGKILL')
  t.true(existsSync(`${database}-wal`), 'a process that was killed leaves one behind')
  await run(t, 'sqlite-restore', env)
  const restored = await start(t, `sqlite:${database}`)
  compare(t, await readAll(restored.url), all, before)
  t.true(await knows(restored, key))
  const later = await publishing(restored)
  await later.stop()
  t.true(later.ids.length >= BEFORE, 'and the service continues')
})

test('backup: a live Redis is saved, and restored into an empty durable one', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.dispose())
  const folder = temporaryFolder(t)
  const port = await freePort()
  const live = await start(t, redis.url)
  const key = await mint(live)
  const { ids, stop } = await publishing(live)
  const before = [...ids]
  const env = {
    REDIS_URL: redis.url,
    BACKUP: join(folder, 'backup.rdb'),
    REDIS_DIR: folder,
    REDIS_PORT: String(port),
  }
  await run(t, 'redis-backup', env)
  await stop()
  const all = await readAll(live.url)
  await live.end('SIGTERM')
  await run(t, 'redis-restore', env)
  const other = await startRedis({ dir: folder })
  t.teardown(() => other.dispose())
  const restored = await start(t, other.url)
  compare(t, await readAll(restored.url), all, before)
  t.true(await knows(restored, key))

  // Later writes are kept, too.
  const later = await publishing(restored)
  await later.stop()
  const expected = (await readAll(restored.url)).size
  await restored.end('SIGKILL')
  await other.end('SIGKILL')
  await other.start()
  t.is((await readAll((await start(t, other.url)).url)).size, expected)
})
