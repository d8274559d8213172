import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A store for one bench: its `STORE_URL`, and a gateway file without limits. */
export type BenchStore = { name: string; url: string; config: string; close: () => Promise<void> }

/** An SQLite file, and a Redis that acknowledges after the disk write, if there is a `redis-server`. */
export async function benchStores(): Promise<BenchStore[]> {
  const stores = [await sqlite()]
  const redis = await startRedis()
  return redis === null ? stores : [...stores, redis]
}

async function folderFor(): Promise<{ folder: string; config: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'entrepot-bench-'))
  const config = join(folder, 'gateway.toml')
  await writeFile(config, '[limits]\npublish_per_minute = 0\nlistings_per_publisher = 0\n')
  return { folder, config }
}

async function sqlite(): Promise<BenchStore> {
  const { folder, config } = await folderFor()
  return {
    name: 'SQLite',
    url: `sqlite:${join(folder, 'entrepot.db')}`,
    config,
    close: () => rm(folder, { recursive: true }),
  }
}

async function startRedis(): Promise<BenchStore | null> {
  const { folder, config } = await folderFor()
  const port = await freePort()
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--maxmemory-policy', 'noeviction']
  const server = spawn('redis-server', ['--port', String(port), '--dir', folder, '--save', '', ...durable])
  const started = await Promise.race([
    once(server, 'error').then(() => false),
    new Promise<boolean>((resolve) => {
      server.stdout.on('data', (text) => {
        if (String(text).includes('Ready to accept connections')) resolve(true)
      })
    }),
  ])
  if (!started) {
    process.stderr.write('no redis-server on PATH (apt-get install redis-server): SQLite only\n')
    await rm(folder, { recursive: true })
    return null
  }
  const ended = once(server, 'exit')
  return {
    name: 'Redis',
    url: `redis://127.0.0.1:${port}`,
    config,
    close: async () => {
      server.kill('SIGTERM')
      await ended
      await rm(folder, { recursive: true })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
