import { setTimeout as delay } from 'node:timers/promises'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { createRecoverPool } from '../src/registry/signature/recover-pool.ts'
import { startEntrepot } from './children.ts'
import { publishAtFullSpeed } from './publishing.ts'
import { benchStores } from './stores.ts'
import type { Bench, TableRow } from './table.ts'

const SECONDS = 6
const WARM_UP_SECONDS = 2
const IN_FLIGHT = 64

export const publishBench: Bench = {
  name: 'publish',
  what: 'signed publishes a second over HTTP, durable, against the signature check alone on the same threads',
  run: async () => {
    const alone = await verifierAlone()
    const rows: TableRow[] = []
    for (const store of await benchStores()) {
      const entrepot = await startEntrepot({ STORE_URL: store.url, ENTREPOT_CONFIG: store.config })
      await publishFor(entrepot.url, WARM_UP_SECONDS)
      const rate = await publishFor(entrepot.url, SECONDS)
      rows.push({
        store: store.name,
        'publishes/s': rate,
        'checks/s alone': alone,
        ratio: rate / alone,
        budget: '0.7',
      })
      await entrepot.close()
      await store.close()
    }
    return rows
  },
}

async function publishFor(url: string, seconds: number): Promise<number> {
  const { published, seconds: took } = await publishAtFullSpeed(url, AbortSignal.timeout(seconds * 1000))
  return published / took
}

async function verifierAlone(): Promise<number> {
  const { recover, close } = createRecoverPool()
  const wallet = privateKeyToAccount(generatePrivateKey())
  const hex = (await wallet.signMessage({ message: 'bench' })).slice(2)
  const signature = {
    r: BigInt(`0x${hex.slice(0, 64)}`),
    s: BigInt(`0x${hex.slice(64, 128)}`),
    yParity: hex.endsWith('1b') ? 0 : 1,
  } as const
  let checked = 0
  let stopped = false
  const checkOn = async (): Promise<void> => {
    while (!stopped) {
      await recover('bench', signature)
      checked++
    }
  }
  const running = Promise.all(Array.from({ length: IN_FLIGHT }, checkOn))
  await delay(WARM_UP_SECONDS * 1000)
  const before = checked
  const started = performance.now()
  await delay(SECONDS * 1000)
  const rate = ((checked - before) / (performance.now() - started)) * 1000
  stopped = true
  await running
  await close()
  return rate
}
