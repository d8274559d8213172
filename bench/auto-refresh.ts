import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Child, servedCounts, startChild } from './children.ts'
import { startBenchGateway, whenHeld } from './start-gateway.ts'
import type { Bench, TableRow } from './table.ts'

const UPSTREAMS = 20
const LISTINGS = 10_000
const CHANGES_A_SECOND = 1
/** Several periods of the first page; with readers, also of the whole. */
const SECONDS = { quiet: 60, read: 120, restarted: 60 }
const HOUR = 3600
const MEGABYTE = 1e6

export const autoRefresh: Bench = {
  name: 'auto-refresh',
  what: `what a gateway sends to and receives from ${UPSTREAMS} upstreams × ${LISTINGS.toLocaleString('en')} listings without compression, with ${CHANGES_A_SECOND} change a second in all; an hour is scaled up from ${SECONDS.quiet} s without readers and ${SECONDS.read} s with a query a second`,
  run: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'entrepot-bench-'))
    const script = fileURLToPath(new URL('./scripted-registries.ts', import.meta.url))
    const upstreams = await startChild([script, ...[UPSTREAMS, LISTINGS, 0, 0, CHANGES_A_SECOND].map(String)])
    const bases = Array.from({ length: UPSTREAMS }, (_, n) => `${upstreams.url}/registry-${n}`)
    // Snapshots are saved beside the store.
    const start = () => startBenchGateway(folder, bases, { storeUrl: `sqlite:${join(folder, 'store.db')}` })
    let gateway = await start()
    try {
      await whenHeld(gateway.url)
      const { quiet, read, restarted } = SECONDS
      const rows = [
        scaled('no readers', await trafficOf(upstreams, () => delay(quiet * 1000)), quiet),
        scaled('readers', await trafficOf(upstreams, () => readFor(gateway, read)), read),
      ]
      await gateway.close()
      const afterRestart = await trafficOf(upstreams, async () => {
        gateway = await start()
        await readFor(gateway, restarted)
      })
      return [...rows, { state: `first ${restarted} s after a restart, readers`, ...afterRestart }]
    } finally {
      await gateway.close()
      await upstreams.close()
      await rm(folder, { recursive: true })
    }
  },
}

type Traffic = Record<'requests' | 'MB sent' | 'MB received', number>

/** As the upstreams count it while `work` runs. */
async function trafficOf(upstreams: Child, work: () => Promise<unknown>): Promise<Traffic> {
  const before = await servedCounts(upstreams)
  await work()
  const after = await servedCounts(upstreams)
  return {
    requests: after.requests - before.requests,
    'MB sent': (after.received - before.received) / MEGABYTE,
    'MB received': (after.sent - before.sent) / MEGABYTE,
  }
}

function scaled(state: string, traffic: Traffic, seconds: number): TableRow {
  const byHour = Object.entries(traffic).map(([name, value]) => [name, (value * HOUR) / seconds] as const)
  return { state: `an hour, ${state}`, ...Object.fromEntries(byHour) }
}

let queries = 0

/** A new query a second. */
async function readFor(gateway: Child, seconds: number): Promise<void> {
  for (let n = 0; n < seconds; n++) {
    const [response] = await Promise.all([
      fetch(`${gateway.url}/listings?vcpu_count_min=-${++queries}&limit=50`),
      delay(1000),
    ])
    const text = await response.text()
    if (!text.includes('"complete":true')) throw new Error(`${response.status} ${text.slice(-1000)}`)
  }
}
