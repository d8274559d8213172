import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Streams of plain `node:http`: `POST` writes its body to each. `GET /cpu` answers the seconds of a core that were spent. */
const streams: ServerResponse[] = []

const server = createServer(async (request, response) => {
  if (request.method === 'POST') {
    const event = Buffer.concat(await request.toArray())
    for (const stream of streams) stream.write(event)
    response.end()
  } else if (request.url === '/cpu') {
    const { user, system } = process.cpuUsage()
    response.end(String((user + system) / 1e6))
  } else {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('retry: 1000\n\n')
    streams.push(response)
  }
})
server.listen(0, '127.0.0.1', () => {
  process.stderr.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.once('SIGTERM', () => process.exit())
