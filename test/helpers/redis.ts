import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { openRedisStore } from '../../src/store/redis/open.ts'
import type { Store } from '../../src/store/store.ts'
import { eventually } from './eventually.ts'
import { freePort } from './free-port.ts'
import { programPath } from './programs.ts'
import type { Teardown } from './registry.ts'
import type { OpenStore } from './store/subject.ts'

/** A Redis that a test can stop and start again with the same data on the same port. */
export type OwnRedis = {
  url: string
  start(): Promise<void>
  /** `SIGKILL` for a crash. Resolves when the process is gone. */
  end(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>
  /** Stops the process without ending it; `SIGCONT` continues it. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void
  /** Ends the process and removes its data. */
  dispose(): Promise<void>
}

/** The Redis to test with: `REDIS_URL`, or one of our own. */
export async function testRedis(): Promise<{ url: string; dispose: () => Promise<void> }> {
  const url = process.env.REDIS_URL
  return url === undefined || url === '' ? startRedis() : { url, dispose: async () => {} }
}

type Settings = Readonly<Record<string, string>>

/** Starts a durable Redis on a free port of the loopback. `settings`: further lines of `redis.conf`. */
export async function startRedis(settings: Settings | ((port: number) => Settings) = {}): Promise<OwnRedis> {
  const program = programPath('redis')
  const port = await freePort()
  const directory = mkdtempSync(join(tmpdir(), 'entrepot-redis-'))
  const further = typeof settings === 'function' ? settings(port) : settings
  const given = { ...DURABLE, port: String(port), dir: directory, ...further }
  const options = Object.entries(given).flatMap(([name, value]) => [`--${name}`, value])
  let child: ChildProcess | undefined

  const start = async (): Promise<void> => {
    child = spawn(program, options, { stdio: ['ignore', 'pipe', 'inherit'] })
    await ready(child)
  }
  const end = async (signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill(signal)
    await gone
  }
  // Stops the server when a test run ends before its teardown.
  const kill = () => child?.kill('SIGKILL')
  process.once('exit', kill)
  const dispose = async (): Promise<void> => {
    process.off('exit', kill)
    await end('SIGKILL')
    rmSync(directory, { recursive: true, force: true })
  }
  await start()
  return { url: `redis://127.0.0.1:${port}`, start, end, signal: (name) => child?.kill(name), dispose }
}

/** The same, disposed of when the test ends. */
export async function ownRedis(t: Teardown, settings?: Parameters<typeof startRedis>[0]): Promise<OwnRedis> {
  const redis = await startRedis(settings)
  t.teardown(() => redis.dispose())
  return redis
}

/** An operator's connection, which ends with the test. */
export function redisClient(t: Teardown, url: string): Redis {
  const client = new Redis(url).on('error', () => {}) // commands reject; without a listener ioredis prints
  t.teardown(() => client.disconnect())
  return client
}

/** Closed when the test ends. */
export async function redisStore(
  t: Teardown,
  url: string,
  options?: Parameters<typeof openRedisStore>[1],
): Promise<Store> {
  const { store } = await openRedisStore(url, options)
  t.teardown(() => store.close())
  return store
}

/** A store at a URL under keys of its own, which can be opened again. */
export const openAt =
  (urlOf: () => string): OpenStore =>
  async (t, options) => {
    const under = { prefix: `{entrepot-test-${randomUUID()}}:`, ...options }
    const another = () => redisStore(t, urlOf(), under)
    return { store: await another(), another }
  }

/** Resolves when the replica has everything that the master has now. */
export async function replicate(replica: Redis, { url: master }: { url: string }): Promise<void> {
  await replica.replicaof('127.0.0.1', Number(new URL(master).port))
  const replication = () => replica.info('replication')
  await eventually('replicated', replication, (state) => state.includes('master_link_status:up'))
}

/** A Redis that speaks TLS only, with a certificate of `certificates.ts`. */
export async function startRedisTls(
  certificate: 'registry' | 'stranger',
  further: Settings = {},
): Promise<OwnRedis> {
  const redis = await startRedis((port) => ({ ...tlsOnly(port, certificate), ...further }))
  return { ...redis, url: redis.url.replace('redis:', 'rediss:') }
}

/** Of a Redis or a Sentinel. */
export function tlsOnly(port: number, certificate: 'registry' | 'stranger'): Settings {
  const file = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}.pem`, import.meta.url))
  return {
    port: '0',
    'tls-port': String(port),
    'tls-cert-file': file(certificate),
    'tls-key-file': file('registry-key'),
    'tls-ca-cert-file': file('ca'),
    'tls-auth-clients': 'no',
    'tls-replication': 'yes',
  }
}

/** A Sentinel that watches the Redis at a port as `market`. */
export async function startSentinel(
  masterPort: number,
  settings: (port: number) => Settings = (port) => ({ port: String(port) }),
): Promise<{ port: number; dispose: () => Promise<void> }> {
  const port = await freePort()
  const directory = mkdtempSync(join(tmpdir(), 'entrepot-sentinel-'))
  const file = join(directory, 'sentinel.conf')
  const lines = Object.entries({
    ...{ bind: '127.0.0.1', dir: directory },
    'sentinel monitor': `market 127.0.0.1 ${masterPort} 1`,
    'sentinel down-after-milliseconds': 'market 500',
    ...settings(port),
  }).map((setting) => setting.join(' '))
  writeFileSync(file, lines.join('\n'))
  const child = spawn(programPath('redis'), [file, '--sentinel'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  await ready(child, '+monitor master market')
  const dispose = async () => {
    process.off('exit', kill)
    const gone = once(child, 'exit')
    kill()
    await gone
    rmSync(directory, { recursive: true, force: true })
  }
  return { port, dispose }
}

/** A Cluster of nodes with a share of the slots each. One node checks slots like a large one, and can be restarted. */
export async function startRedisCluster(nodes = 1): Promise<OwnRedis> {
  const servers = await Promise.all(Array.from({ length: nodes }, () => startRedis(CLUSTER)))
  await joinCluster(servers)
  const [first] = servers
  const dispose = async () => {
    await Promise.all(servers.map((server) => server.dispose()))
  }
  // One node is enough: it knows the others.
  return { ...first!, url: first!.url.replace('redis:', 'redis+cluster:'), dispose }
}

/** Like `redis-cli --cluster create`. Resolves when each node answers for all slots. */
async function joinCluster(servers: readonly OwnRedis[]): Promise<void> {
  const nodes = servers.map(({ url }) => new Redis(url))
  const share = Math.ceil(CLUSTER_SLOTS / servers.length)
  for (const [n, node] of nodes.entries()) {
    const slots = Array.from({ length: CLUSTER_SLOTS }, (_, slot) => slot)
    await node.cluster('ADDSLOTS', ...slots.slice(n * share, (n + 1) * share))
    if (n > 0) await nodes[0]!.cluster('MEET', '127.0.0.1', new URL(servers[n]!.url).port)
  }
  for (const node of nodes) {
    await eventually('a Cluster of all servers', () => knowsCluster(node, servers.length))
    node.disconnect()
  }
}

async function knowsCluster(node: Redis, size: number): Promise<boolean> {
  const info = String(await node.cluster('INFO'))
  return info.includes('cluster_state:ok') && info.includes(`cluster_size:${size}\r`)
}

const CLUSTER = { 'cluster-enabled': 'yes', 'cluster-announce-ip': '127.0.0.1' }
const CLUSTER_SLOTS = 16_384
/** A killed Redis has what it answered: it writes before each answer. Only a loss of power would need `appendfsync`. */
const DURABLE = { bind: '127.0.0.1', appendonly: 'yes', appendfsync: 'no', save: '' }

async function ready(child: ChildProcess, sign = 'Ready to accept connections'): Promise<void> {
  let output = ''
  for await (const chunk of child.stdout!) {
    output += chunk
    if (output.includes(sign)) {
      child.stdout!.resume()
      return
    }
  }
  throw new Error(`Redis did not start: ${output}`)
}
