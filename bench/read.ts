import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { generateOffers } from '../demo/offers.ts'
import { createClient } from '../src/client/client.ts'
import { startEntrepot, startPlainServer } from './children.ts'
import { compare } from './load.ts'
import type { Bench, TableRow } from './table.ts'

const LISTINGS = 500
const PATH = '/listings?gpu_model=H200&limit=50'
const KEY = 'bench-key'

export const read: Bench = {
  name: 'read',
  what: `GET ${PATH} repeated at a local Registry, against plain node:http with the same bytes`,
  run: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'entrepot-bench-'))
    try {
      return [
        await measure(folder, 'both gates off', {}),
        await measure(folder, 'read gate on, read key', GATED),
      ]
    } finally {
      await rm(folder, { recursive: true })
    }
  },
}

const GATED = { REGISTRY_REQUIRE_READ_API_KEY: 'true', REGISTRY_BOOTSTRAP_API_KEY: KEY }

async function measure(folder: string, gate: string, environment: Record<string, string>): Promise<TableRow> {
  const config = join(folder, 'gateway.toml')
  await writeFile(config, '[limits]\npublish_per_minute = 0\nlistings_per_publisher = 0\n')
  const entrepot = await startEntrepot({
    STORE_URL: 'sqlite::memory:',
    ENTREPOT_CONFIG: config,
    ...environment,
  })
  const account = privateKeyToAccount(generatePrivateKey())
  const client = createClient({ url: entrepot.url, apiKey: KEY, account })
  for (const offer of generateOffers('bench', LISTINGS)) await client.publish(offer)
  const headers = { Authorization: `Bearer ${KEY}` }
  const url = `${entrepot.url}${PATH}`
  const body = Buffer.from(await (await fetch(url, { headers })).arrayBuffer())
  const bytes = join(folder, 'bytes')
  await writeFile(bytes, body)
  const plain = await startPlainServer(bytes)
  try {
    const result = await compare({ url, headers }, plain)
    return {
      gate,
      'body bytes': body.length,
      'requests/s': result.ours,
      'node:http': result.plain,
      ratio: result.ratio,
      budget: '0.5',
    }
  } finally {
    await plain.close()
    await entrepot.close()
  }
}
