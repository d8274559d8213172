import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { generateListings } from './generate-listings.ts'

/**
 * Many Registries in one process: `/registry-N/listings` answers `listings` of them, whatever is asked, after the time
 * that the Nth is away. Run with their number, their listings and the milliseconds of the nearest and the farthest.
 */
const [count = 0, listings = 0, nearest = 0, farthest = 0] = process.argv.slice(2).map(Number)

const bodyOf = (n: number): Buffer => {
  const items = Array.from(generateListings(listings, n + 1), ({ bytes }) => Buffer.from(bytes).toString())
  const envelope = `{"items":[${items.reverse().join(',')}],"count":${listings},"total_after_filter":${listings}}`
  return Buffer.from(envelope)
}

const awayMs = (n: number): number => nearest + ((farthest - nearest) * n) / Math.max(1, count - 1)

const bodies = Array.from({ length: count }, (_, n) => bodyOf(n))

const server = createServer((request, response) => {
  const n = Number(/^\/registry-(\d+)\/listings\?/.exec(request.url ?? '')?.[1] ?? count)
  const body = bodies[n]
  if (body === undefined) return response.writeHead(404, { 'Content-Type': 'application/json' }).end('{}')
  const answer = (): unknown =>
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length }).end(body)
  return farthest === 0 ? answer() : setTimeout(answer, awayMs(n))
})
server.listen(0, '127.0.0.1', () => {
  process.stderr.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.once('SIGTERM', () => process.exit())
