import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey } from 'viem/accounts'
import { loadConfig } from '../src/config/config.ts'
import { createContext } from '../src/context/context.ts'
import { type Service, startService } from '../src/service.ts'
import { fillMarket, type RegistryName } from './fill-market.ts'
import { RegistryProcess } from './registry-process.ts'

export type DemoMarket = {
  /** URL of the gateway, and of each Registry by name. */
  gateway: string
  registries: Record<RegistryName, string>
  processes: Record<RegistryName, RegistryProcess>
  /** Opens the curated Registry and, at the gateway, the private source. */
  readerKey: string
  /** Opens the operator's page of the gateway. */
  operatorKey: string
  published: number
  close: () => Promise<void>
}

/**
 * Starts three Registries, each a process of its own, and a gateway over them in this one, and publishes signed listings. `port` is the
 * gateway's, and the Registries use the next three; 0 takes free ports.
 * @throws ConfigError when a port is taken
 */
export async function startDemoMarket(port: number): Promise<DemoMarket> {
  const folder = await mkdtemp(join(tmpdir(), 'entrepot-demo-'))
  const readerKey = generatePrivateKey().slice(2)
  const operatorKey = generatePrivateKey().slice(2)
  const gated = { REGISTRY_REQUIRE_READ_API_KEY: 'true', REGISTRY_BOOTSTRAP_API_KEY: readerKey }
  const at = (offset: number): string => String(port === 0 ? 0 : port + offset)
  const file = join(folder, 'registry.toml')
  const newProcess = (name: RegistryName, offset: number, more: Record<string, string> = {}) =>
    new RegistryProcess(
      { PORT: at(offset), STORE_URL: `sqlite:${join(folder, `${name}.db`)}`, ENTREPOT_CONFIG: file, ...more },
      folder,
    )
  const processes = {
    'open-market': newProcess('open-market', 1),
    curated: newProcess('curated', 2, gated),
    'co-located': newProcess('co-located', 3),
  }
  let gateway: Service | null = null
  const close = async (): Promise<void> => {
    await gateway?.close()
    await Promise.all(Object.values(processes).map((one) => one.stop()))
    await rm(folder, { recursive: true })
  }
  try {
    await writeFile(file, '[limits]\npublish_per_minute = 0\n')
    if (port !== 0) await tryPort(port, file)
    await allOf(Object.values(processes).map((one) => one.start()))
    const urlOf = (name: RegistryName): string => processes[name].url
    const registries = {
      'open-market': urlOf('open-market'),
      curated: urlOf('curated'),
      'co-located': urlOf('co-located'),
    }
    // First, so that the gateway's first pull has all of it.
    const published = await fillMarket(registries, readerKey)
    const gatewayToml = join(folder, 'gateway.toml')
    await writeFile(gatewayToml, gatewayFile(registries))
    const load = () =>
      loadConfig({
        PORT: at(0),
        STORE_URL: 'sqlite::memory:',
        LOG_LEVEL: 'silent',
        ENTREPOT_CONFIG: gatewayToml,
        REGISTRY_BOOTSTRAP_API_KEY: readerKey,
        REGISTRY_ADMIN_API_KEY: operatorKey,
        CURATED_KEY: readerKey,
      })
    const context = await createContext(load(), { load })
    await context.ready
    gateway = await startService(context)
    return { gateway: gateway.url, registries, processes, readerKey, operatorKey, published, close }
  } catch (cause) {
    await close()
    throw cause
  }
}

/** Says that the gateway's port is taken before three Registries are started and filled. */
async function tryPort(port: number, file: string): Promise<void> {
  const settings = { STORE_URL: 'sqlite::memory:', LOG_LEVEL: 'silent', ENTREPOT_CONFIG: file }
  const service = await startService(await createContext(loadConfig({ ...settings, PORT: String(port) })))
  await service.close()
}

/** Waits for all, then throws the first failure: a process that starts later could not be stopped. */
async function allOf(starting: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(starting)).find(({ status }) => status === 'rejected')
  if (failed !== undefined) throw (failed as PromiseRejectedResult).reason
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
