import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Child, startEntrepot } from './children.ts'

/** A pure gateway over live upstreams at these URLs; its configuration is written to `folder`. */
export async function startBenchGateway(folder: string, bases: readonly string[]): Promise<Child> {
  const config = join(folder, 'gateway.toml')
  const tables = bases.map(
    (url, n) => `[[upstreams]]\nname = "upstream-${n}"\nurl = "${url}"\nallow_private_addresses = true\n`,
  )
  await writeFile(config, tables.join('\n'))
  return startEntrepot({ STORE_URL: 'sqlite::memory:', ENTREPOT_CONFIG: config })
}
