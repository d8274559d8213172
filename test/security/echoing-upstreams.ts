import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ExecutionContext } from 'ava'
import { envelopeText, listingText } from '../helpers/fake-registry.ts'

type Echo = (said: string, response: ServerResponse) => unknown

/** Ways of an upstream to say again what it was sent as `Authorization`. */
const ECHOES: Readonly<Record<string, Echo>> = {
  refusal: (said, response) =>
    response
      .writeHead(401, { 'WWW-Authenticate': `Bearer error="${said}"` })
      .end(`{"detail":"not a key: ${said}"}`),
  fault: (said, response) => response.writeHead(500).end(`Traceback: headers = ${said}`),
  'bad-gateway': (said, response) =>
    response.writeHead(503, { 'Content-Type': 'application/problem+json' }).end(
      JSON.stringify({
        detail: said,
        sources: [{ registry: said.slice(0, 60), state: 'unavailable', reason: said }],
      }),
    ),
  listing: (said, response) => {
    const item = listingText({ listing_id: 'echo', offer_resource: { note: said } })
    return response.writeHead(200, { 'Content-Type': 'application/json' }).end(envelopeText([item], 1))
  },
  'not-json': (said, response) => response.writeHead(200).end(`<h1>${said}</h1>`),
  redirect: (said, response) =>
    response.writeHead(302, { Location: `/?key=${encodeURIComponent(said)}` }).end(),
  later: (said, response) => response.writeHead(429, { 'Retry-After': said }).end(said),
  encoding: (said, response) => response.writeHead(200, { 'Content-Encoding': said }).end('x'),
  type: (said, response) => response.writeHead(200, { 'Content-Type': said, 'X-Key': said }).end('{}'),
  'no-http': (said, response) => response.socket?.end(`HTTP/1.1 200 ${said}\r\n${said}\r\n\r\n`),
  reset: (_said, response) => response.socket?.resetAndDestroy(),
}

export const ECHO_NAMES = Object.keys(ECHOES)

/** One server for all of them, each below a path of its own. Resolves with their URLs by name. */
export async function startEchoes(t: ExecutionContext): Promise<ReadonlyMap<string, string>> {
  const server = createServer((request: IncomingMessage, response) => {
    const [, name = ''] = request.url!.split('/')
    ECHOES[name]?.(request.headers.authorization ?? '', response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  return new Map(ECHO_NAMES.map((name) => [name, `http://127.0.0.1:${port}/${name}`]))
}
