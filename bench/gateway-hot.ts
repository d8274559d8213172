import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { generateOffers } from '../demo/offers.ts'
import { createClient } from '../src/client/client.ts'
import { type Child, startEntrepot, startPlainServer } from './children.ts'
import { compare } from './load.ts'
import { whenHeld } from './start-gateway.ts'
import type { Bench, TableRow } from './table.ts'

const UPSTREAMS = 5
const LISTINGS = 100
const PATH = '/listings?gpu_model=H200&limit=50'
const KEY = 'bench-key'

export const gatewayHot: Bench = {
  name: 'gateway-hot',
  what: `GET ${PATH} repeated at a gateway over ${UPSTREAMS} Registries, two of them private, with a read key, against plain node:http with the same bytes`,
  run: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'entrepot-bench-'))
    const children: Child[] = []
    try {
      for (let n = 0; n < UPSTREAMS; n++) children.push(await startUpstream(folder, n))
      return [await measure(folder, children)]
    } finally {
      for (const child of children) await child.close()
      await rm(folder, { recursive: true })
    }
  },
}

async function startUpstream(folder: string, n: number): Promise<Child> {
  const config = join(folder, `upstream-${n}.toml`)
  await writeFile(config, '[limits]\npublish_per_minute = 0\nlistings_per_publisher = 0\n')
  const child = await startEntrepot({ STORE_URL: 'sqlite::memory:', ENTREPOT_CONFIG: config })
  const client = createClient({ url: child.url, account: privateKeyToAccount(generatePrivateKey()) })
  for (const offer of generateOffers(`bench-${n}`, LISTINGS)) await client.publish(offer)
  return child
}

async function measure(folder: string, upstreams: readonly Child[]): Promise<TableRow> {
  const config = join(folder, 'gateway.toml')
  const tables = upstreams.map(
    ({ url }, n) =>
      `[[upstreams]]\nname = "upstream-${n}"\nurl = "${url}"\nallow_private_addresses = true\n` +
      `visibility = "${n < 2 ? 'private' : 'public'}"\n`,
  )
  await writeFile(config, tables.join('\n'))
  const gateway = await startEntrepot({
    STORE_URL: 'sqlite::memory:',
    ENTREPOT_CONFIG: config,
    REGISTRY_REQUIRE_READ_API_KEY: 'true',
    REGISTRY_BOOTSTRAP_API_KEY: KEY,
  })
  const headers = { Authorization: `Bearer ${KEY}` }
  await whenHeld(gateway.url, headers)
  const url = `${gateway.url}${PATH}`
  await (await fetch(url, { headers })).arrayBuffer()
  const body = Buffer.from(await (await fetch(url, { headers })).arrayBuffer())
  if (!body.includes('"complete":true')) throw new Error(`not every upstream answers: ${body}`)
  const bytes = join(folder, 'bytes')
  await writeFile(bytes, body)
  const plain = await startPlainServer(bytes)
  try {
    const result = await compare({ url, headers }, plain, { seconds: 2, rounds: 7 })
    return {
      upstreams: upstreams.length,
      'body bytes': body.length,
      'requests/s': result.ours,
      'node:http': result.plain,
      ratio: result.ratio,
      budget: '0.5',
    }
  } finally {
    await plain.close()
    await gateway.close()
  }
}
