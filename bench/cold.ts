import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Pool } from 'undici'
import { type Child, startChild } from './children.ts'
import { startBenchGateway } from './start-gateway.ts'
import type { Bench, TableRow } from './table.ts'

const LISTINGS = 200
const CONNECTIONS = 4
const ROUNDS = 6
const ROUND_MS = 2000

export const cold: Bench = {
  name: 'cold',
  what: `distinct queries per second, none cached, ${CONNECTIONS} connections, pages of 50 of upstreams × ${LISTINGS} listings: the gateway with every check against bench/naive-aggregator.ts, alternating`,
  run: async () => [await measure(20, '1.0'), await measure(1, '0.7')],
}

async function measure(count: number, budget: string): Promise<TableRow> {
  const folder = await mkdtemp(join(tmpdir(), 'entrepot-bench-'))
  const upstreams = await startChild([script('scripted-registries.ts'), ...[count, LISTINGS].map(String)])
  const bases = Array.from({ length: count }, (_, n) => `${upstreams.url}/registry-${n}`)
  const naive = await startChild([script('naive-aggregator.ts'), ...bases])
  const gateway = await startBenchGateway(folder, bases)
  try {
    const rates = { gateway: [] as number[], naive: [] as number[] }
    await queriesPerSecond(naive)
    await queriesPerSecond(gateway)
    for (let round = 0; round < ROUNDS; round++) {
      rates.naive.push(await queriesPerSecond(naive))
      rates.gateway.push(await queriesPerSecond(gateway))
    }
    const [own, other] = [median(rates.gateway), median(rates.naive)]
    return {
      upstreams: count,
      'gateway, queries/s': own,
      'naive, queries/s': other,
      ratio: own / other,
      budget,
    }
  } finally {
    await gateway.close()
    await naive.close()
    await upstreams.close()
    await rm(folder, { recursive: true })
  }
}

const script = (name: string): string => fileURLToPath(new URL(`./${name}`, import.meta.url))

let queries = 0

/** Every query is distinct, and excludes nothing. */
async function queriesPerSecond({ url }: Child): Promise<number> {
  const pool = new Pool(url, { connections: CONNECTIONS })
  const started = performance.now()
  let answered = 0
  const sendQueries = async (): Promise<void> => {
    while (performance.now() - started < ROUND_MS) {
      const path = `/listings?vcpu_count_min=-${++queries}&limit=50`
      const { statusCode, body } = await pool.request({ path, method: 'GET' })
      const text = await body.text()
      if (statusCode !== 200 || text.includes('"complete":false')) throw new Error(`${statusCode} ${text}`)
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
