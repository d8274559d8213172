import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { request } from 'undici'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { generateOffers } from '../demo/offers.ts'
import { createClient } from '../src/client/client.ts'
import { type Child, startEntrepot } from './children.ts'
import { fillStore } from './fill-store.ts'
import { startBenchGateway, whenHeld } from './start-gateway.ts'
import type { TableRow } from './table.ts'

const ENTREPOTS = 10
const LISTINGS = 1000
const SECONDS = 120
const HOUR = 3600

/** Requests an hour of a gateway over entrepots with one change a second in all: by pulls alone, and by their streams. */
export async function requestsOverEntrepots(folder: string): Promise<TableRow[]> {
  const entrepots: Child[] = []
  try {
    for (let n = 0; n < ENTREPOTS; n++) {
      const store = `sqlite:${join(folder, `entrepot-${n}.db`)}`
      await fillStore(store, LISTINGS)
      entrepots.push(await startEntrepot({ STORE_URL: store }))
    }
    const polled = await requestsAnHour(folder, entrepots, false)
    const followed = await requestsAnHour(folder, entrepots, true)
    const measure = `a gateway of ${ENTREPOTS} entrepots, requests an hour`
    return [
      { measure: `${measure}, by pulls alone`, value: polled, unit: 'requests' },
      { measure: `${measure}, by their streams`, value: followed, unit: 'requests' },
    ]
  } finally {
    for (const entrepot of entrepots) await entrepot.close()
  }
}

async function requestsAnHour(
  folder: string,
  entrepots: readonly Child[],
  isFollowed: boolean,
): Promise<number> {
  const counters = await Promise.all(entrepots.map(({ url }) => startCounter(url, isFollowed)))
  const bases = counters.map(({ url }) => url)
  const gateway = await startBenchGateway(folder, bases)
  try {
    await whenHeld(gateway.url)
    const made = (): number => counters.reduce((sum, { requests }) => sum + requests, 0)
    const before = made()
    await publishEachSecond(gateway, entrepots)
    return ((made() - before) * HOUR) / SECONDS
  } finally {
    await gateway.close()
    for (const counter of counters) counter.close()
  }
}

/** With a reader of the gateway: without one, nothing is pulled whole. */
async function publishEachSecond(gateway: Child, entrepots: readonly Child[]): Promise<void> {
  const account = privateKeyToAccount(generatePrivateKey())
  const offers = generateOffers('followed', SECONDS)
  for (const [n, offer] of offers.entries()) {
    const client = createClient({ url: entrepots[n % entrepots.length]!.url, account })
    await client.publish({ ...offer, listing_id: `followed-${Date.now()}` })
    await (await fetch(`${gateway.url}/listings?limit=1`)).text()
    await delay(1000)
  }
}

type Counter = { url: string; requests: number; close: () => void }

/** Passes requests on and counts them. Without the header of its position, an entrepot is not followed. */
async function startCounter(upstream: string, isFollowed: boolean): Promise<Counter> {
  const counter: Counter = { url: '', requests: 0, close: () => {} }
  const server = createServer(async (incoming, outgoing) => {
    counter.requests++
    const { host: _, connection: __, ...passed } = incoming.headers
    try {
      const { statusCode, headers, body } = await request(`${upstream}${incoming.url}`, { headers: passed })
      if (!isFollowed) delete headers['changes-position']
      outgoing.writeHead(statusCode, headers)
      body.on('error', () => outgoing.destroy()).pipe(outgoing)
      outgoing.on('close', () => body.destroy())
    } catch {
      outgoing.destroy()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  counter.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  counter.close = () => {
    server.closeAllConnections()
    server.close()
  }
  return counter
}
