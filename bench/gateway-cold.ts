import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startChild } from './children.ts'
import { startBenchGateway } from './start-gateway.ts'
import type { Bench, TableRow } from './table.ts'

const UPSTREAMS = 20
const LISTINGS = 200
/** Fewer than an upstream has: a smaller one is read whole and cached, whatever the query. */
const SCAN_LIMIT = 100
const QUERIES = 100
const WARM_UP = 40
/** Delays of the nearest and the farthest upstream. */
const NEAREST_MS = 10
const FARTHEST_MS = 100

export const gatewayCold: Bench = {
  name: 'gateway-cold',
  what: `every request a new query, ${UPSTREAMS} live upstreams × ${LISTINGS} listings (scan_limit ${SCAN_LIMIT}), a page of 50; upstreams answer after ${NEAREST_MS} to ${FARTHEST_MS} ms, or all at once`,
  run: async () => [await measure(NEAREST_MS, FARTHEST_MS, '2.5'), await measure(0, 0)],
}

async function measure(nearest: number, farthest: number, budget?: string): Promise<TableRow> {
  const folder = await mkdtemp(join(tmpdir(), 'entrepot-bench-'))
  const script = fileURLToPath(new URL('./scripted-registries.ts', import.meta.url))
  const upstreams = await startChild([script, ...[UPSTREAMS, LISTINGS, nearest, farthest].map(String)])
  const bases = Array.from({ length: UPSTREAMS }, (_, n) => `${upstreams.url}/registry-${n}`)
  const gateway = await startBenchGateway(folder, bases, {
    mode: 'live',
    settings: `scan_limit = ${SCAN_LIMIT}`,
  })
  try {
    const times = { gateway: [] as number[], slowest: [] as number[] }
    const slowest = `${upstreams.url}/registry-${UPSTREAMS - 1}/listings?`
    for (let n = 0; n < WARM_UP + QUERIES; n++) {
      // It excludes nothing, and is not cached.
      const query = `vcpu_count_min=-${n + 1}&limit=50`
      times.slowest.push(await timed(`${slowest}${query}`))
      times.gateway.push(await timed(`${gateway.url}/listings?${query}`))
    }
    const p50 = (all: readonly number[]): number =>
      all.slice(WARM_UP).toSorted((a, b) => a - b)[QUERIES / 2] ?? 0
    return {
      'upstreams after, ms': farthest === 0 ? '0' : `${nearest}–${farthest}`,
      'gateway p50, ms': p50(times.gateway),
      'slowest upstream p50, ms': p50(times.slowest),
      ratio: p50(times.gateway) / p50(times.slowest),
      ...(budget === undefined ? {} : { budget }),
    }
  } finally {
    await gateway.close()
    await upstreams.close()
    await rm(folder, { recursive: true })
  }
}

async function timed(url: string): Promise<number> {
  const started = performance.now()
  const response = await fetch(url)
  const body = Buffer.from(await response.arrayBuffer())
  const elapsed = performance.now() - started
  if (!response.ok || body.includes('"complete":false')) throw new Error(`${url}: ${response.status} ${body}`)
  return elapsed
}
