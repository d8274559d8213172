import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { installedProgram } from './debian.ts'
import { freePort } from './free-port.ts'

/** A Redis of our own, which a test may end and start again with the same data on the same port. */
export type OwnRedis = {
  url: string
  start(): Promise<void>
  /** `SIGKILL` for a crash. Resolves when the process is gone. */
  end(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>
  /** Holds the process up without ending it; `SIGCONT` lets it go on. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void
  /** Ends the process and removes its data. */
  dispose(): Promise<void>
}

/** The Redis to test with: `REDIS_URL`, or one of our own. */
export const testRedis = async (): Promise<{ url: string; dispose: () => Promise<void> }> => {
  const url = process.env.REDIS_URL
  return url === undefined || url === '' ? startRedis() : { url, dispose: async () => {} }
}

/** Starts a Redis that loses nothing, on a free port of the loopback. `settings` are further lines of `redis.conf`. */
export const startRedis = async (settings: Readonly<Record<string, string>> = {}): Promise<OwnRedis> => {
  const program = await installedProgram(PROGRAM)
  const port = await freePort()
  const directory = mkdtempSync(join(tmpdir(), 'entrepot-redis-'))
  const given = { ...DURABLE, port: String(port), dir: directory, ...settings }
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
  const dispose = async (): Promise<void> => {
    await end('SIGKILL')
    rmSync(directory, { recursive: true, force: true })
  }
  // A test run that ends before its teardown leaves no server behind.
  process.once('exit', () => child?.kill('SIGKILL'))
  await start()
  return { url: `redis://127.0.0.1:${port}`, start, end, signal: (name) => child?.kill(name), dispose }
}

/** A Cluster of one node: it checks slots like a big one. Resolves when it answers for all of them. */
export const startRedisCluster = async (): Promise<OwnRedis> => {
  const redis = await startRedis({ 'cluster-enabled': 'yes', 'cluster-announce-ip': '127.0.0.1' })
  const node = new Redis(redis.url)
  await node.cluster('ADDSLOTS', ...Array.from({ length: CLUSTER_SLOTS }, (_, slot) => slot))
  while (!String(await node.cluster('INFO')).includes('cluster_state:ok')) await setTimeout(20)
  node.disconnect()
  return { ...redis, url: redis.url.replace('redis:', 'redis+cluster:') }
}

const CLUSTER_SLOTS = 16_384
const DURABLE = { bind: '127.0.0.1', appendonly: 'yes', appendfsync: 'always', save: '' }
const PROGRAM = {
  missing: 'No Redis',
  names: ['redis-server', 'valkey-server'],
  package: 'redis-server',
  otherwise: 'set REDIS_URL',
}

const ready = async (child: ChildProcess): Promise<void> => {
  let output = ''
  for await (const chunk of child.stdout!) {
    output += chunk
    if (output.includes('Ready to accept connections')) {
      child.stdout!.resume()
      return
    }
  }
  throw new Error(`Redis did not start: ${output}`)
}
