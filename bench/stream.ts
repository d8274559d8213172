import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEntrepot } from './children.ts'
import { fillStore } from './fill-store.ts'
import { whenHeld } from './start-gateway.ts'
import type { Bench } from './table.ts'

/** Half of the listings are in the local Registry, half in a snapshot. */
const LISTINGS = 100_000
/** So that they fit in memory. */
const MAX_BYTES = 2 ** 30

export const stream: Bench = {
  name: 'stream',
  what: `NDJSON of ${(2 * LISTINGS).toLocaleString('en')} merged listings, half of them another Registry's snapshot`,
  run: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'entrepot-bench-'))
    const stores = ['other', 'own'].map((name) => `sqlite:${join(folder, `${name}.db`)}`) as [string, string]
    await Promise.all(stores.map((url, n) => fillStore(url, LISTINGS, n + 1)))
    const plain = join(folder, 'plain.toml')
    await writeFile(plain, '')
    const other = await startEntrepot({ STORE_URL: stores[0], ENTREPOT_CONFIG: plain })
    const config = join(folder, 'gateway.toml')
    await writeFile(
      config,
      `[cache]\nmax_bytes = ${MAX_BYTES}\n[[upstreams]]\nname = "other"\nurl = "${other.url}"\nmax_listings = ${LISTINGS}\nrefresh_seconds = 3600\nallow_private_addresses = true\n`,
    )
    const gateway = await startEntrepot({ STORE_URL: stores[1], ENTREPOT_CONFIG: config })
    try {
      await whenHeld(gateway.url)
      await read(gateway.url, 'identity')
      const before = residentMegabytes(gateway.pid)
      const [items, seconds] = await timedRead(gateway.url, 'identity')
      const growth = residentMegabytes(gateway.pid) - before
      const [, gzipSeconds] = await timedRead(gateway.url, 'gzip')
      return [
        { measure: 'items', value: items, unit: '' },
        { measure: 'speed', value: items / seconds, unit: 'items/s', budget: '150,000' },
        { measure: 'speed, compressed', value: items / gzipSeconds, unit: 'items/s' },
        { measure: 'growth of resident memory', value: growth, unit: 'MB', budget: '100' },
      ]
    } finally {
      await gateway.close()
      await other.close()
      await rm(folder, { recursive: true })
    }
  },
}

async function timedRead(url: string, encoding: string): Promise<[items: number, seconds: number]> {
  const started = performance.now()
  const items = await read(url, encoding)
  return [items, (performance.now() - started) / 1000]
}

/** Reads the stream chunk by chunk; the number of items, without the last line. */
async function read(url: string, encoding: string): Promise<number> {
  const headers = { Accept: 'application/x-ndjson', 'Accept-Encoding': encoding }
  const response = await fetch(`${url}/listings?status=open`, { headers })
  let lines = 0
  let last = ''
  for await (const chunk of response.body!) {
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines++
    last = Buffer.from(chunk.subarray(Math.max(0, chunk.length - 4096))).toString()
  }
  if (!last.includes('"complete":true')) throw new Error(`the stream was not complete: …${last.slice(-300)}`)
  return lines - 1
}

const residentMegabytes = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024
