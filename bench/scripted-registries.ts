import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { federate } from '../src/filter-spec/federated.ts'
import { readFilterSpec } from '../src/filter-spec/load.ts'
import { generateListings } from './generate-listings.ts'

/**
 * Many minimal Registries in one process: `/registry-N/listings` pages by `limit` and `offset` through listings that match
 * every query, after the delay of the Nth. Each declares the shipped filters. `/requests` answers the number of served
 * pages. Arguments: number of Registries, listings of each, milliseconds of the nearest and the farthest.
 */
const [count = 0, listings = 0, nearest = 0, farthest = 0] = process.argv.slice(2).map(Number)

const spec = readFilterSpec(fileURLToPath(new URL('../config/filter-spec.yaml', import.meta.url)))
const FILTER_SPEC = Buffer.from(federate(spec, []).body)

const registries = Array.from({ length: count }, (_, n) => {
  const items: string[] = []
  for (const { status, bytes } of generateListings(listings * 3, n + 1))
    if (status === 'open' && items.length < listings) items.push(Buffer.from(bytes).toString())
  return { items: items.reverse(), pages: new Map<string, Buffer>() }
})

/** Longer Registries are read once, so their pages are not cached. */
const MEMOIZED = 1000

type Registry = (typeof registries)[number]

let served = 0

const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://bench')
  if (url.pathname === '/requests') return send(response, 200, Buffer.from(String(served)))
  const [, n = '', route = ''] = /^\/registry-(\d+)\/([\w-]+)$/.exec(url.pathname) ?? []
  const registry = registries[Number(n)]
  if (registry === undefined || route === 'publishers') return send(response, 404, Buffer.from('{}'))
  if (route === 'filter-spec') return send(response, 200, FILTER_SPEC)
  served++
  const body = pageOf(registry, url.searchParams.get('limit') ?? '50', url.searchParams.get('offset') ?? '0')
  const delay = nearest + ((farthest - nearest) * Number(n)) / Math.max(1, count - 1)
  return farthest === 0 ? send(response, 200, body) : setTimeout(() => send(response, 200, body), delay)
})

const send = (response: ServerResponse, status: number, body: Buffer): unknown =>
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': body.length }).end(body)

function pageOf({ items, pages }: Registry, limit: string, offset: string): Buffer {
  const key = `${limit} ${offset}`
  const known = pages.get(key)
  if (known !== undefined) return known
  const page = items.slice(Number(offset), Number(offset) + Number(limit))
  const body = Buffer.from(
    `{"items":[${page.join(',')}],"count":${page.length},"total_after_filter":${items.length}}`,
  )
  if (items.length <= MEMOIZED) pages.set(key, body)
  return body
}

server.listen(0, '127.0.0.1', () => {
  process.stderr.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.once('SIGTERM', () => process.exit())
