import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { servedCounts, startChild } from './children.ts'
import { startBenchGateway } from './start-gateway.ts'
import type { Bench, TableRow } from './table.ts'

const LISTINGS = 100_000

export const deep: Bench = {
  name: 'deep',
  what: `a walk by cursor over ${LISTINGS.toLocaleString('en')} listings of one live upstream, with the cache at its defaults; the last tenth of pages against the first`,
  run: async () => [await walk(100), await walk(200)],
}

async function walk(limit: number): Promise<TableRow> {
  const folder = await mkdtemp(join(tmpdir(), 'entrepot-bench-'))
  const script = fileURLToPath(new URL('./scripted-registries.ts', import.meta.url))
  const upstream = await startChild([script, '1', String(LISTINGS)])
  const gateway = await startBenchGateway(folder, [`${upstream.url}/registry-0`], { mode: 'live' })
  try {
    const times: number[] = []
    let items = 0
    let cursor: string | undefined
    do {
      const started = performance.now()
      const page = await readPage(
        `${gateway.url}/listings?limit=${limit}${cursor === undefined ? '' : `&cursor=${cursor}`}`,
      )
      times.push(performance.now() - started)
      items += page.items.length
      cursor = page.next_cursor
    } while (cursor !== undefined)
    if (items !== LISTINGS) throw new Error(`the walk has ${items} of ${LISTINGS} listings`)
    const { pages: requests } = await servedCounts(upstream)
    const tenth = Math.floor(times.length / 10)
    const [first, last] = [median(times.slice(0, tenth)), median(times.slice(-tenth))]
    return {
      limit,
      pages: times.length,
      'upstream requests a page': requests / times.length,
      'first tenth p50, ms': first,
      'last tenth p50, ms': last,
      budget: limit === 100 ? '1.1 requests' : '2.1 requests',
    }
  } finally {
    await gateway.close()
    await upstream.close()
    await rm(folder, { recursive: true })
  }
}

type Page = { items: unknown[]; complete: boolean; next_cursor?: string }

async function readPage(url: string): Promise<Page> {
  const page = (await (await fetch(url)).json()) as Page
  if (page.complete !== true) throw new Error(`${url}: ${JSON.stringify(page).slice(-500)}`)
  return page
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
