import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import test, { type ExecutionContext } from 'ava'
import { loadConfig } from '../../src/config/config.ts'
import { createContext } from '../../src/context/context.ts'
import { recoverAddress } from '../../src/registry/signature/recover-address.ts'
import { startService } from '../../src/service.ts'
import { listingTexts, startFakeRegistry } from '../helpers/fake-registry.ts'
import { gatewayToml } from '../helpers/gateway.ts'
import { testRedis } from '../helpers/redis.ts'
import { send } from '../helpers/registry.ts'

/** Starts a gateway over one snapshot upstream, sends one query once it is ready, and stops it. */
async function askOnce({
  storeUrl,
  name,
  url,
  folder,
}: {
  storeUrl: string
  name: string
  url: string
  folder: string
}): Promise<Record<string, unknown>> {
  const file = join(folder, 'gateway.toml')
  writeFileSync(file, gatewayToml([{ name, url, settings: 'mode = "snapshot"' }]))
  const config = loadConfig({ PORT: '0', STORE_URL: storeUrl, LOG_LEVEL: 'silent', ENTREPOT_CONFIG: file })
  const service = await startService(await createContext(config, { recover: recoverAddress }))
  try {
    while ((await send(`${service.url}/ready`)).status !== 200) await setImmediate()
    return (await send(`${service.url}/listings?sources=${name}&limit=200`)).json()
  } finally {
    await service.close()
  }
}

const STORES = {
  SQLite: async (_t: ExecutionContext, folder: string) => `sqlite:${join(folder, 'entrepot.db')}`,
  Redis: async (t: ExecutionContext) => {
    const { url, dispose } = await testRedis()
    t.teardown(dispose)
    return url
  },
}

for (const [store, open] of Object.entries(STORES)) {
  test(`snapshot restart: with ${store}, a dead upstream's listings remain to the byte`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'entrepot-'))
    t.teardown(() => rm(folder, { recursive: true }))
    const fake = await startFakeRegistry({ items: listingTexts('a', 120) })
    const gateway = {
      storeUrl: await open(t, folder),
      name: `upstream-${randomBytes(6).toString('hex')}`,
      url: fake.url,
      folder,
    }
    const before = await askOnce(gateway)
    await fake.close()
    const after = await askOnce(gateway)
    t.like(before, { total_after_filter: 120, complete: true, sources: [{ state: 'loaded' }] })
    t.like(after, { total_after_filter: 120, complete: true })
    t.like((after.sources as object[])[0], { state: 'stale', reason: 'connection_refused' })
    const unmarked = (answer: Record<string, unknown>) =>
      JSON.stringify(answer.items).replaceAll('"stale":true', '"stale":false')
    t.is(unmarked(after), unmarked(before))
  })
}
