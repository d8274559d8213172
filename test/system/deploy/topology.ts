import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { freePorts } from '../../helpers/free-port.ts'
import { ownRedis } from '../../helpers/redis.ts'
import { type RunningService, startRegistry } from '../../helpers/registry.ts'
import { temporaryFolder } from '../../helpers/run-cli.ts'
import { type ServiceProcess, startProcess } from '../../helpers/service-process.ts'
import { addressOf, readComposeFile } from './compose-file.ts'
import { startProxy } from './nginx.ts'
import { makeSecrets } from './secrets.ts'

/** A replica that can be stopped and started again at the same address. */
export type Replica = { url: string; start: () => Promise<void>; end: ServiceProcess['end'] }

export type Topology = {
  /** URL of the proxy. */
  url: string
  replicas: readonly [Replica, Replica]
  /** Secrets by the name of their file. */
  secret: (name: string) => string
  registries: Readonly<Record<string, RunningService>>
  /** Lines of the proxy so far. */
  proxyOutput: () => string
}

const file = readComposeFile({ GATEWAY_FILE: 'demo.toml' })

/**
 * The profile demo of `docker-compose.yml` as processes on the loopback: Redis, two gateways and nginx, with the settings
 * and secrets of `deploy/`; only addresses differ. The Registries run in this process.
 */
export async function startTopology(t: ExecutionContext): Promise<Topology> {
  const secrets = makeSecrets(t)
  const secret = (name: string): string => readFileSync(join(secrets, name), 'utf8').trim()
  const folder = temporaryFolder(t)
  const registries = await startRegistries(t, secret('curated_key'))
  const redis = await ownRedis(t, { include: join(secrets, 'redis.conf') })

  const storeUrl = join(folder, 'store_url')
  writeFileSync(storeUrl, secret('store_url').replace('redis:6379', new URL(redis.url).host))
  const toml = join(folder, 'gateway.toml')
  const places: readonly [string, string][] = [
    ...Object.entries(registries).map(([name, { url }]): [string, string] => [`http://${name}:8080`, url]),
    [`${addressOf(file, 'proxy', 'front')}/32`, '127.0.0.1/32'],
    ['/run/secrets', secrets],
  ]
  writeFileSync(toml, replaced(readFileSync('deploy/config/demo.toml', 'utf8'), places))

  const ports = await freePorts(2)
  const [first, second] = ports.map((port, n): Replica => {
    const { environment = {} } = file.services[`gateway-${n + 1}`]!
    const here = Object.fromEntries(
      Object.entries(environment).map(([name, value]) => [name, value.replace('/run/secrets', secrets)]),
    )
    return replicaAt(port, { ...here, ENTREPOT_CONFIG: toml, STORE_URL_FILE: storeUrl })
  }) as [Replica, Replica]
  for (const replica of [first, second]) {
    await replica.start()
    t.teardown(() => replica.end('SIGKILL'))
  }
  const proxy = await startProxy([first.url, second.url])
  t.teardown(() => proxy.close())
  return { url: proxy.url, replicas: [first, second], secret, registries, proxyOutput: proxy.output }
}

/** The demo's Registries: a public one, one with a read gate, one of a single seller. */
async function startRegistries(
  t: ExecutionContext,
  curatedKey: string,
): Promise<Record<string, RunningService>> {
  const toml = readFileSync('deploy/config/registry.toml', 'utf8')
  return {
    'open-market': await startRegistry(t, { toml }),
    curated: await startRegistry(t, {
      toml,
      environment: { REGISTRY_REQUIRE_READ_API_KEY: 'true', REGISTRY_BOOTSTRAP_API_KEY: curatedKey },
    }),
    'co-located': await startRegistry(t, { toml }),
  }
}

function replicaAt(port: number, environment: Record<string, string>): Replica {
  let running: ServiceProcess | undefined
  return {
    url: `http://127.0.0.1:${port}`,
    start: async () => {
      running = await startProcess('', { ...environment, PORT: String(port) })
    },
    end: async (signal) => (running === undefined ? null : running.end(signal)),
  }
}

const replaced = (text: string, places: readonly (readonly [there: string, here: string])[]): string =>
  places.reduce((rest, [there, here]) => {
    if (!rest.includes(there)) throw new Error(`${there} does not occur`)
    return rest.replaceAll(there, here)
  }, text)
