import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey } from 'viem/accounts'
import { loadConfig } from '../src/config/config.ts'
import { createContext } from '../src/context/context.ts'
import { type Service, startService } from '../src/service.ts'
import { fillMarket, type RegistryName } from './fill-market.ts'

export type DemoMarket = {
  /** URL of the gateway, and of each Registry by name. */
  gateway: string
  registries: Record<RegistryName, string>
  /** Opens the curated Registry and, at the gateway, the private source. */
  readerKey: string
  /** Opens the operator's page of the gateway. */
  operatorKey: string
  published: number
  close: () => Promise<void>
}

/**
 * Starts three Registries and a gateway over them in this process, each on its own port, and publishes signed listings.
 * `port` is the gateway's, and the Registries use the next three; 0 takes free ports.
 * @throws ConfigError when a port is taken
 */
export async function startDemoMarket(port: number): Promise<DemoMarket> {
  const folder = await mkdtemp(join(tmpdir(), 'entrepot-demo-'))
  const running: Service[] = []
  const close = async (): Promise<void> => {
    for (const service of running.reverse()) await service.close()
    await rm(folder, { recursive: true })
  }
  const start = async (
    name: string,
    offset: number,
    toml: string,
    more: Record<string, string> = {},
  ): Promise<string> => {
    const file = join(folder, `${name}.toml`)
    await writeFile(file, toml)
    const environment = {
      PORT: String(port === 0 ? 0 : port + offset),
      STORE_URL: 'sqlite::memory:',
      LOG_LEVEL: 'error',
      ENTREPOT_CONFIG: file,
      ...more,
    }
    const load = () => loadConfig(environment)
    const service = await startService(await createContext(load(), { load }))
    running.push(service)
    return service.url
  }
  try {
    const readerKey = generatePrivateKey().slice(2)
    const operatorKey = generatePrivateKey().slice(2)
    const gated = { REGISTRY_REQUIRE_READ_API_KEY: 'true', REGISTRY_BOOTSTRAP_API_KEY: readerKey }
    const unlimited = '[limits]\npublish_per_minute = 0\n'
    const registries = {
      'open-market': await start('open-market', 1, unlimited),
      curated: await start('curated', 2, unlimited, gated),
      'co-located': await start('co-located', 3, unlimited),
    }
    // First, so that the gateway's first pull has all of it.
    const published = await fillMarket(registries, readerKey)
    const gateway = await start('gateway', 0, gatewayFile(registries), {
      REGISTRY_BOOTSTRAP_API_KEY: readerKey,
      REGISTRY_ADMIN_API_KEY: operatorKey,
      CURATED_KEY: readerKey,
    })
    return { gateway, registries, readerKey, operatorKey, published, close }
  } catch (cause) {
    await close()
    throw cause
  }
}

const gatewayFile = (registries: Record<RegistryName, string>): string =>
  Object.entries(registries)
    .map(
      ([name, url]) => `
[[upstreams]]
name = "${name}"
url = "${url}"
allow_private_addresses = true
refresh_seconds = 1
${name === 'curated' ? 'visibility = "private"\napi_key_env = "CURATED_KEY"' : ''}
`,
    )
    .join('')
