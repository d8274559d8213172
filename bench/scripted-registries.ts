import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { federate } from '../src/filter-spec/federated.ts'
import { readFilterSpec } from '../src/filter-spec/load.ts'
import { ScriptedListings } from './scripted-listings.ts'

/**
 * Many minimal Registries in one process: `/registry-N/listings` pages by `limit` and `offset` through listings that match
 * every query, after the delay of the Nth. Each declares the shipped filters, and has a directory and counts. `/counts`
 * answers what was served. Arguments: number of Registries, listings of each, milliseconds of the nearest and the farthest,
 * changes a second of all together, and 1 where each has few sellers, and copies of a tenth of the listings of the one before.
 */
const [count = 0, listings = 0, nearest = 0, farthest = 0, changes = 0, hasCopies = 0] = process.argv
  .slice(2)
  .map(Number)

const spec = readFilterSpec(fileURLToPath(new URL('../config/filter-spec.yaml', import.meta.url)))
const FILTER_SPEC = Buffer.from(federate(spec, []).body)

const registries: ScriptedListings[] = []
for (let n = 0; n < count; n++) {
  const better = hasCopies === 0 ? undefined : (registries.at(-1) ?? null)
  registries.push(new ScriptedListings(listings, n + 1, better))
}

/** Of all requests; `pages` of listings only. */
const served = { requests: 0, pages: 0 }
const sockets = new Set<Socket>()
const closed = { received: 0, sent: 0 }

const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://bench')
  if (url.pathname === '/counts') return sendJson(response, counts())
  served.requests++
  const [, n, route] = /^\/registry-(\d+)\/(.+)$/.exec(url.pathname) ?? []
  const registry = registries[Number(n)]
  const [limit, offset] = [url.searchParams.get('limit') ?? 50, url.searchParams.get('offset') ?? 0].map(
    Number,
  )
  if (registry === undefined) return send(response, 404, Buffer.from('{}'))
  if (route === 'filter-spec') return send(response, 200, FILTER_SPEC)
  if (route === 'publishers') return sendJson(response, directoryPage(registry, limit!, offset!))
  if (route === 'api/v1/system/stats') return sendJson(response, registry.stats)
  if (route !== 'listings') return send(response, 404, Buffer.from('{}'))
  served.pages++
  const body = registry.page(limit!, offset!)
  const delay = nearest + ((farthest - nearest) * Number(n)) / Math.max(1, count - 1)
  return farthest === 0 ? send(response, 200, body) : setTimeout(() => send(response, 200, body), delay)
})

server.on('connection', (socket) => {
  sockets.add(socket)
  socket.once('close', () => {
    sockets.delete(socket)
    closed.received += socket.bytesRead
    closed.sent += socket.bytesWritten
  })
})

const sendJson = (response: ServerResponse, value: unknown): unknown =>
  send(response, 200, Buffer.from(JSON.stringify(value)))

const send = (response: ServerResponse, status: number, body: Buffer): unknown =>
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': body.length }).end(body)

/** `received` and `sent` are bytes on all connections, `listingBytes` those of all listings now. */
function counts(): Record<string, number> {
  const open = [...sockets]
  return {
    ...served,
    received: open.reduce((sum, { bytesRead }) => sum + bytesRead, closed.received),
    sent: open.reduce((sum, { bytesWritten }) => sum + bytesWritten, closed.sent),
    listingBytes: registries.reduce((sum, registry) => sum + registry.bytes, 0),
  }
}

function directoryPage({ publishers }: ScriptedListings, limit: number, offset: number): unknown {
  const items = publishers.slice(offset, offset + limit).map(({ id, address }) => ({
    publisher_id: id,
    storefront_url: `https://seller-${id}.compute.example/`,
    identities: [{ scheme: 'eip191', identifier: address }],
  }))
  return { items, count: items.length }
}

let changed = 0
if (changes > 0) setInterval(() => registries[changed++ % count]!.change(), 1000 / changes)

server.listen(0, '127.0.0.1', () => {
  process.stderr.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.once('SIGTERM', () => process.exit())
