import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { backupStore } from '../src/context/store-commands.ts'
import { commandClient, connected } from '../src/store/redis/connection.ts'
import { openRedisStore } from '../src/store/redis/open.ts'
import { openSqliteStore } from '../src/store/sqlite/store.ts'
import { startRedis } from '../test/helpers/redis.ts'
import { fillFrozen } from '../test/helpers/store/frozen.ts'

/**
 * `node scripts/freeze-stores.ts VERSION` writes the stores of this code to `test/fixtures/stores/`: a file, a backup and the keys of
 * a Redis. `test/integration/store/upgrade.test.ts` opens them with the code of each version after.
 */

const FOLDER = 'test/fixtures/stores'
const PREFIX = '{entrepot}:'

async function freezeFiles(version: string, folder: string): Promise<void> {
  const path = join(folder, 'store.db')
  const store = openSqliteStore(path)
  await fillFrozen(store)
  await store.close()
  const frozen = gzipSync(readFileSync(path))
  const backup = join(folder, 'backup.db')
  await backupStore(`sqlite:${path}`, backup)
  writeFileSync(`${FOLDER}/${version}.db.gz`, frozen)
  writeFileSync(`${FOLDER}/${version}-backup.db.gz`, gzipSync(readFileSync(backup)))
}

async function freezeRedis(version: string): Promise<void> {
  const redis = await startRedis()
  try {
    const { store } = await openRedisStore(redis.url, { prefix: PREFIX })
    await fillFrozen(store)
    await store.close()
    const keys = JSON.stringify(await readKeys(redis.url), null, 2)
    writeFileSync(`${FOLDER}/${version}-redis.json`, `${keys}\n`)
  } finally {
    await redis.dispose()
  }
}

/** By their names without the prefix. Keys that expire are left out. */
async function readKeys(url: string): Promise<Record<string, object>> {
  const client = commandClient(url)
  await connected(client)
  try {
    const names = (await client.keys(`${PREFIX}*`)).sort()
    const keys: Record<string, object> = {}
    for (const name of names) {
      const type = await client.type(name)
      if ((await client.pttl(name)) >= 0 && type === 'string') continue
      const read = {
        string: () => client.get(name),
        hash: () => client.hgetall(name),
        zset: () => client.zrange(name, 0, '-1', 'WITHSCORES'),
        stream: () => client.xrange(name, '-', '+'),
      }[type]
      if (read === undefined) throw new Error(`${name} is a ${type}`)
      keys[name.slice(PREFIX.length)] = { type, value: await read() }
    }
    return keys
  } finally {
    client.disconnect()
  }
}

const [version = ''] = process.argv.slice(2)
if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Error('usage: node scripts/freeze-stores.ts VERSION')
const folder = mkdtempSync(join(tmpdir(), 'entrepot-frozen-'))
try {
  await freezeFiles(version, folder)
  await freezeRedis(version)
} finally {
  rmSync(folder, { recursive: true })
}
