import { setTimeout as delay } from 'node:timers/promises'
import { loadConfig } from '../src/config/config.ts'
import { createContext } from '../src/context/context.ts'
import { startService } from '../src/service.ts'
import { upstreamStates, whenHeld } from './start-gateway.ts'

/**
 * A gateway whose upstreams are held, in its own process. Prints the memory that it takes more than before the first pull,
 * after each whole pull of all upstreams. Arguments: the gateway file, the number of pulls.
 */
const [config = '', pulls = ''] = process.argv.slice(2)

const ADMIN_KEY = 'bench-admin-key-0123456789abcdef-0123456789'

const context = await createContext(
  loadConfig({
    PORT: '0',
    STORE_URL: 'sqlite::memory:',
    LOG_LEVEL: 'warn',
    ENTREPOT_CONFIG: config,
    REGISTRY_ADMIN_API_KEY: ADMIN_KEY,
  }),
)
const before = usedBytes()
const service = await startService(context)
await whenHeld(service.url)
const growth = [await settledGrowth()]
while (growth.length < Number(pulls)) {
  await pullAll()
  growth.push(await settledGrowth())
}
process.stdout.write(JSON.stringify(growth))
await service.close()

/** Resolves when all upstreams have been pulled whole. */
async function pullAll(): Promise<void> {
  const asked = performance.now()
  for (const { registry } of await upstreamStates(service.url))
    await fetch(`${service.url}/admin/sources/${registry}/refresh`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${ADMIN_KEY}` },
    })
  const isOlder = ({ age_seconds }: { age_seconds: number | null }): boolean =>
    age_seconds === null || age_seconds + 1 > (performance.now() - asked) / 1000
  while ((await upstreamStates(service.url)).some(isOlder)) await delay(200)
}

async function settledGrowth(): Promise<number> {
  for (let n = 0; n < 5; n++) {
    global.gc?.()
    await delay(200)
  }
  return usedBytes() - before
}

/** Node counts array buffers in `external`. */
function usedBytes(): number {
  global.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
