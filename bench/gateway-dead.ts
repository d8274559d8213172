import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Child, startChild, startEntrepot } from './children.ts'
import { benchGatewayToml } from './start-gateway.ts'
import type { Bench, TableRow } from './table.ts'

const UPSTREAMS = 5
const LISTINGS = 50
const TIMEOUT_MS = 300
const QUERIES = 200
/** The breaker opens after five failures in a row, so several gateways are needed for enough samples before. */
const QUERIES_BEFORE_OPEN = 4
const GATEWAYS = 5
const WARM_UP = 20

export const gatewayDead: Bench = {
  name: 'gateway-dead',
  what: `${UPSTREAMS} live upstreams, every request a new query; then one of them accepts connections and never answers (timeout_ms ${TIMEOUT_MS})`,
  run: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'entrepot-bench-'))
    const script = fileURLToPath(new URL('./scripted-registries.ts', import.meta.url))
    const upstreams = await startChild([script, ...[UPSTREAMS, LISTINGS, 0, 0].map(String)])
    const silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const hanging = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
    const urls = Array.from({ length: UPSTREAMS }, (_, n) => `${upstreams.url}/registry-${n}`)
    const children = [upstreams]
    const start = async (name: string, of: readonly string[]): Promise<Child> => {
      const gateway = await startGateway(join(folder, `${name}.toml`), of)
      children.push(gateway)
      return gateway
    }
    try {
      const well = await start('well', urls)
      await measure(well, QUERIES)
      const allWell = summary(await measure(well, QUERIES))
      const closed: number[] = []
      let dead = well
      for (let n = 0; n < GATEWAYS; n++) {
        dead = await start(`dead-${n}`, [...urls.slice(1), hanging])
        await measure(dead, WARM_UP, '&sources=upstream-0,upstream-1,upstream-2,upstream-3')
        // The wait for its filter spec has ended by then.
        await setTimeout(2 * TIMEOUT_MS)
        closed.push(...(await measure(dead, QUERIES_BEFORE_OPEN)))
      }
      return [
        { state: 'all well', ...allWell },
        { state: 'one hangs, breaker closed', ...summary(closed), budget: `p99 ≤ ${TIMEOUT_MS + 50}` },
        { state: '(the breaker opens)', ...summary(await measure(dead, 4)) },
        {
          state: 'one hangs, breaker open',
          ...summary(await measure(dead, QUERIES)),
          budget: 'p99 as all well',
        },
      ]
    } finally {
      for (const child of children.reverse()) await child.close()
      silent.close()
      await rm(folder, { recursive: true })
    }
  },
}

async function startGateway(config: string, urls: readonly string[]): Promise<Child> {
  await writeFile(config, benchGatewayToml(urls, `mode = "live"\ntimeout_ms = ${TIMEOUT_MS}`))
  return startEntrepot({ STORE_URL: 'sqlite::memory:', ENTREPOT_CONFIG: config })
}

let distinct = 0

async function measure({ url }: Child, queries: number, more = ''): Promise<number[]> {
  const times: number[] = []
  for (let n = 0; n < queries; n++) {
    const started = performance.now()
    const response = await fetch(`${url}/listings?vcpu_count_min=-${++distinct}${more}`)
    await response.arrayBuffer()
    times.push(performance.now() - started)
  }
  return times
}

function summary(times: readonly number[]): TableRow {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return { 'p50, ms': at(0.5), 'p99, ms': at(0.99) }
}
