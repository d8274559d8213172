import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Pool } from 'undici'
import { type Child, startChild } from './children.ts'
import { startBenchGateway, whenHeld } from './start-gateway.ts'
import type { Bench, TableRow } from './table.ts'

const LISTINGS = 200
const CONNECTIONS = 4
const WARM_UP_MS = 3000
const ROUNDS = 30
const ROUND_MS = 400

export const cold: Bench = {
  name: 'cold',
  what: `distinct queries per second, no answer cached, ${CONNECTIONS} connections, pages of 50 of upstreams × ${LISTINGS} listings: the gateway with every check against bench/naive-aggregator.ts, alternating`,
  run: async () => [await measure(20, '12'), await measure(1, '1.5')],
}

async function measure(count: number, budget: string): Promise<TableRow> {
  const folder = await mkdtemp(join(tmpdir(), 'entrepot-bench-'))
  const upstreams = await startChild([script('scripted-registries.ts'), ...[count, LISTINGS].map(String)])
  const bases = Array.from({ length: count }, (_, n) => `${upstreams.url}/registry-${n}`)
  const servers = {
    naive: await startChild([script('naive-aggregator.ts'), ...bases]),
    gateway: await startBenchGateway(folder, bases),
  }
  try {
    await whenHeld(servers.gateway.url)
    const rates = { naive: [] as number[], gateway: [] as number[] }
    for (const server of Object.values(servers)) await queriesPerSecond(server, WARM_UP_MS)
    for (let round = 0; round < ROUNDS; round++)
      for (const name of ['naive', 'gateway'] as const)
        rates[name].push(await queriesPerSecond(servers[name]))
    return {
      upstreams: count,
      'gateway, queries/s': median(rates.gateway),
      'naive, queries/s': median(rates.naive),
      ratio: median(rates.gateway) / median(rates.naive),
      budget,
    }
  } finally {
    for (const server of [servers.gateway, servers.naive, upstreams]) await server.close()
    await rm(folder, { recursive: true })
  }
}

const script = (name: string): string => fileURLToPath(new URL(`./${name}`, import.meta.url))

let queries = 0

/** Every query is distinct, and excludes nothing. */
async function queriesPerSecond({ url }: Child, ms = ROUND_MS): Promise<number> {
  const pool = new Pool(url, { connections: CONNECTIONS })
  const started = performance.now()
  let answered = 0
  const sendQueries = async (): Promise<void> => {
    while (performance.now() - started < ms) {
      const path = `/listings?vcpu_count_min=-${++queries}&limit=50`
      const { statusCode, body } = await pool.request({ path, method: 'GET' })
      // Neither server waits for a client that decodes text. What is missing is named behind the items.
      let last = Buffer.alloc(0)
      for await (const chunk of body) last = chunk as Buffer<ArrayBuffer>
      if (statusCode !== 200 || last.includes('"complete":false')) throw new Error(`${statusCode} ${last}`)
      answered++
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, sendQueries))
  const seconds = (performance.now() - started) / 1000
  await pool.close()
  return answered / seconds
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
