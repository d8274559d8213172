import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { request } from 'undici'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { generateOffers } from '../demo/offers.ts'
import { createClient } from '../src/client/client.ts'
import { type Child, startChild, startEntrepot } from './children.ts'
import { fillStore } from './fill-store.ts'
import { requestsOverEntrepots } from './followed.ts'
import { percentile } from './index.ts'
import { startBenchGateway, whenHeld } from './start-gateway.ts'
import type { Bench, TableRow } from './table.ts'
import { Watchers } from './watchers.ts'

const LISTINGS = 10_000
/** Markets of that size that an agent follows. */
const MARKETS = 20
const WATCHERS = 1000
/** In each phase. */
const PUBLISHES = 200
const PAUSE_MS = 50
const IDLE_SECONDS = 10
const HOUR = 3600
const MB = 1e6
const TOML =
  '[limits]\npublish_per_minute = 0\nlistings_per_publisher = 0\n' +
  // A tenth of them is kept for readers with keys.
  `[changes]\nmax_watchers = ${2 * WATCHERS}\nmax_watchers_per_reader = ${WATCHERS + 1}\n`

export const changes: Bench = {
  name: 'changes',
  what: `from the answer to a publish to the event at a stream of a Registry with ${LISTINGS.toLocaleString('en')} listings and of a gateway that follows it; ${WATCHERS.toLocaleString('en')} streams; bytes an hour of an agent over ${MARKETS} such markets with one change a second in all, against reading them each minute; requests of a gateway over ten entrepots`,
  run: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'entrepot-bench-'))
    const config = join(folder, 'registry.toml')
    await writeFile(config, TOML)
    const store = `sqlite:${join(folder, 'store.db')}`
    await fillStore(store, LISTINGS)
    const environment = { STORE_URL: store, ENTREPOT_CONFIG: config, METRICS_PUBLIC: 'true' }
    const registry = await startEntrepot(environment)
    const gateway = await startBenchGateway(folder, [registry.url])
    try {
      await whenHeld(gateway.url)
      const publisher = openPublisher(registry)
      const alone = await latencies('Registry', registry, publisher, 50)
      const behind = await latencies('gateway', gateway, publisher, 150)
      return [
        ...alone.rows,
        ...behind.rows,
        ...(await watched(registry, publisher)),
        await plainStreams(alone.bytesOfEvent),
        ...(await hourOf(registry, alone.bytesOfEvent)),
        ...(await requestsOverEntrepots(folder)),
      ]
    } finally {
      await gateway.close()
      await registry.close()
      await rm(folder, { recursive: true })
    }
  },
}

type Publisher = () => Promise<unknown>

function openPublisher({ url }: Child): Publisher {
  const client = createClient({ url, account: privateKeyToAccount(generatePrivateKey()) })
  const offers = generateOffers('changes', 100)
  let sent = 0
  return () => client.publish({ ...offers[sent % offers.length]!, listing_id: `change-${sent++}` })
}

/** Of one stream. */
async function latencies(
  name: string,
  { url }: Child,
  publish: Publisher,
  budget: number,
): Promise<{ rows: TableRow[]; bytesOfEvent: number }> {
  const watchers = new Watchers()
  await watchers.open(url, 1)
  // Streams that repeat what came before the first of these publishes have no part in it.
  for (let before = -1; before !== watchers.events[0]; await delay(500)) before = watchers.events[0]!
  const times: number[] = []
  const { bytes } = watchers
  for (let n = 0; n < PUBLISHES; n++) {
    const expected = watchers.events[0]! + 1
    await publish()
    const answered = performance.now()
    await watchers.received(expected)
    times.push(performance.now() - answered)
    await delay(PAUSE_MS)
  }
  watchers.close()
  times.sort((a, b) => a - b)
  const measure = `${name}, event after the answer`
  return {
    rows: [
      { measure: `${measure}, p50`, value: percentile(times, 0.5), unit: 'ms' },
      { measure: `${measure}, p99`, value: percentile(times, 0.99), unit: 'ms', budget: String(budget) },
    ],
    bytesOfEvent: (watchers.bytes - bytes) / PUBLISHES,
  }
}

async function watched(registry: Child, publish: Publisher): Promise<TableRow[]> {
  const before = await usageOf(registry)
  const few = await costOfPublish(registry, publish, 0)
  const watchers = new Watchers()
  await watchers.open(registry.url, WATCHERS)
  await delay(1000)
  const { bytes } = await usageOf(registry)
  const idle = await cpuOf(registry, () => delay(IDLE_SECONDS * 1000))
  const many = await costOfPublish(registry, publish, idle / IDLE_SECONDS)
  await watchers.received(PUBLISHES)
  watchers.close()
  const each = (bytes - before.bytes) / WATCHERS / 1024
  const streams = `${WATCHERS.toLocaleString('en')} streams`
  return [
    { measure: `${streams}, resident memory of each`, value: each, unit: 'KiB', budget: '64' },
    { measure: `${streams}, idle`, value: (100 * idle) / IDLE_SECONDS, unit: '% of a core' },
    {
      measure: `${streams}, added to a publish`,
      value: (many - few) * 1000,
      unit: 'ms of a core',
    },
  ]
}

/** What a publish cannot cost less than: a write of that many bytes to each of the same streams. */
async function plainStreams(bytes: number): Promise<TableRow> {
  const plain = await startChild([fileURLToPath(new URL('./plain-streams.ts', import.meta.url))])
  const watchers = new Watchers()
  try {
    await watchers.open(plain.url, WATCHERS)
    const spent = async () => Number(await (await fetch(`${plain.url}/cpu`)).text())
    const before = await spent()
    const body = `data: ${'x'.repeat(Math.max(0, bytes - 8))}\n\n`
    for (let n = 0; n < PUBLISHES; n++) {
      await (await fetch(plain.url, { method: 'POST', body })).text()
      await delay(PAUSE_MS)
    }
    await watchers.received(PUBLISHES)
    const value = (((await spent()) - before) / PUBLISHES) * 1000
    return { measure: `plain node:http, a write to ${WATCHERS} streams`, value, unit: 'ms of a core' }
  } finally {
    watchers.close()
    await plain.close()
  }
}

/** Seconds of a core. @param idleShare what is spent without publishes */
async function costOfPublish(registry: Child, publish: Publisher, idleShare: number): Promise<number> {
  const started = performance.now()
  const spent = await cpuOf(registry, async () => {
    for (let n = 0; n < PUBLISHES; n++) {
      await publish()
      await delay(PAUSE_MS)
    }
  })
  return (spent - (idleShare * (performance.now() - started)) / 1000) / PUBLISHES
}

async function cpuOf(registry: Child, work: () => Promise<unknown>): Promise<number> {
  const before = await usageOf(registry)
  await work()
  return (await usageOf(registry)).seconds - before.seconds
}

async function usageOf({ url }: Child): Promise<{ seconds: number; bytes: number }> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const read = (name: string): number => Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)![1])
  return { seconds: read('process_cpu_seconds_total'), bytes: read('process_resident_memory_bytes') }
}

async function hourOf(registry: Child, bytesOfEvent: number): Promise<TableRow[]> {
  const followed = (bytesOfEvent * HOUR) / MB
  const [plain, compressed] = [
    await hourByPolling(registry, 'identity'),
    await hourByPolling(registry, 'gzip'),
  ]
  return [
    { measure: 'an hour by the feed', value: followed, unit: 'MB' },
    { measure: 'an hour by polling', value: plain / followed, unit: '× the feed', budget: '≥ 500' },
    { measure: 'an hour by polling, gzip', value: compressed / followed, unit: '× the feed' },
  ]
}

/** In MB. */
async function hourByPolling({ url }: Child, encoding: string): Promise<number> {
  let bytes = 0
  for (let offset = 0; offset < LISTINGS; offset += 200) {
    const headers = { 'accept-encoding': encoding }
    const { body } = await request(`${url}/listings?limit=200&offset=${offset}`, { headers })
    bytes += (await body.bytes()).length
  }
  return (bytes * MARKETS * HOUR) / 60 / MB
}
