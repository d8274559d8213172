import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startChild, startEntrepot } from './children.ts'
import { type PublisherLoad, publishAtFullSpeed } from './publishing.ts'
import { benchStores } from './stores.ts'
import type { Bench, TableRow } from './table.ts'

const run = promisify(execFile)

const PATH = '/listings?gpu_model=H200&limit=50'
const SECONDS = 5

export const mixed: Bench = {
  name: 'mixed',
  what: `p99 of GET ${PATH} beside a load of writes, against the same reads alone`,
  needs: ['wrk'],
  run: async () => [
    // With the limits that a Registry has without a gateway file.
    await readBeside('bad signatures', () => '', '3'),
    await readBeside('publishes', (unlimited) => unlimited, ''),
  ],
}

async function readBeside(
  load: PublisherLoad,
  configOf: (unlimited: string) => string,
  budget: string,
): Promise<TableRow> {
  const [store, ...others] = await benchStores()
  for (const other of others) await other.close()
  const filled = await startEntrepot({ STORE_URL: store!.url, ENTREPOT_CONFIG: store!.config })
  await publishAtFullSpeed(filled.url, AbortSignal.timeout(2000))
  await filled.close()
  const entrepot = await startEntrepot({ STORE_URL: store!.url, ENTREPOT_CONFIG: configOf(store!.config) })
  await percentile99(entrepot.url)
  const alone = await percentile99(entrepot.url)
  const publisher = await startChild([
    fileURLToPath(new URL('./publisher.ts', import.meta.url)),
    entrepot.url,
    load,
  ])
  const together = await percentile99(entrepot.url)
  await publisher.close()
  await entrepot.close()
  await store!.close()
  return {
    store: store!.name,
    beside: load,
    'p99 alone, ms': alone,
    'p99 beside it, ms': together,
    ratio: together / alone,
    budget,
  }
}

/** By wrk: four connections with one in-flight read each, so that latency has no queue. */
async function percentile99(url: string): Promise<number> {
  const { stdout } = await run('wrk', ['-t1', '-c4', `-d${SECONDS}s`, '--latency', `${url}${PATH}`])
  const [, value, unit] = /99%\s+([\d.]+)(us|ms|s)/.exec(stdout)!
  return Number(value) * { us: 0.001, ms: 1, s: 1000 }[unit as 'us' | 'ms' | 's']
}
