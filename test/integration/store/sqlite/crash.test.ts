import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import test from 'ava'
import { openSqliteStore } from '../../../../src/store/sqlite/store.ts'
import { temporaryFolder } from '../../../helpers/run-cli.ts'
import { Picture } from '../../../helpers/store/picture.ts'

const KILLS = 5
const STORM = join(import.meta.dirname, 'storm.ts')

test('SQLite crash: killed processes lose no acknowledged publish', async (t) => {
  const path = join(temporaryFolder(t), 'entrepot.db')
  const acknowledged = new Set<string>()
  for (let kill = 0; kill < KILLS; kill++) {
    const acks = await Promise.all(
      [`a${kill}`, `b${kill}`].map((prefix) => stormUntilKilled(path, prefix, 50 + 97 * kill)),
    )
    for (const id of acks.flat()) acknowledged.add(id)
    const store = openSqliteStore(path)
    const { listings } = await Picture.of(store)
    await store.close()
    t.deepEqual(
      [...acknowledged].filter((id) => !listings.has(id)),
      [],
    )
  }
  t.true(acknowledged.size >= KILLS * 100)
})

/** The ids that a storm has acknowledged by the time it is killed, which is after `enough` of them. */
async function stormUntilKilled(path: string, prefix: string, enough: number): Promise<string[]> {
  const child = spawn(process.execPath, [STORM, path, prefix], { stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  const acknowledged: string[] = []
  for await (const line of createInterface(child.stdout)) {
    acknowledged.push(line)
    if (acknowledged.length === enough) child.kill('SIGKILL')
  }
  await closed
  return acknowledged
}
