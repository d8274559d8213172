import { type Hex, recoverMessageAddress } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { startEntrepot } from './children.ts'
import { publishAtFullSpeed } from './publishing.ts'
import { benchStores } from './stores.ts'
import type { Bench, TableRow } from './table.ts'

const SECONDS = 6
const WARM_UP_SECONDS = 2

export const publishBench: Bench = {
  name: 'publish',
  what: 'signed publishes a second over HTTP, durable, against the signatures that viem recovers on one thread',
  run: async () => {
    const viem = await viemRecoveries()
    const rows: TableRow[] = []
    for (const store of await benchStores()) {
      const entrepot = await startEntrepot({ STORE_URL: store.url, ENTREPOT_CONFIG: store.config })
      await publishFor(entrepot.url, WARM_UP_SECONDS)
      const rate = await publishFor(entrepot.url, SECONDS)
      rows.push({
        store: store.name,
        'publishes/s': rate,
        'viem, recoveries/s': viem,
        ratio: rate / viem,
        budget: '1.8',
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

/** Recoveries a second of viem, which is JavaScript, on one thread. */
async function viemRecoveries(): Promise<number> {
  const signature = await privateKeyToAccount(generatePrivateKey()).signMessage({ message: 'bench' })
  await recoverFor(WARM_UP_SECONDS, signature)
  return recoverFor(SECONDS, signature)
}

async function recoverFor(seconds: number, signature: Hex): Promise<number> {
  const started = performance.now()
  let count = 0
  for (; performance.now() - started < seconds * 1000; count++)
    await recoverMessageAddress({ message: 'bench', signature })
  return (count / (performance.now() - started)) * 1000
}
