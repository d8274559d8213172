import type { ServerResponse } from 'node:http'
import type { ExecutionContext } from 'ava'
import { envelopeText, listingText } from '../../helpers/fake-registry.ts'
import { listen } from '../../helpers/listen.ts'

type Echo = (sent: string, response: ServerResponse) => unknown

/** Ways of an upstream to repeat the `Authorization` that it was sent. */
const ECHOES: Readonly<Record<string, Echo>> = {
  refusal: (sent, response) =>
    response
      .writeHead(401, { 'WWW-Authenticate': `Bearer error="${sent}"` })
      .end(`{"detail":"not a key: ${sent}"}`),
  fault: (sent, response) => response.writeHead(500).end(`Traceback: headers = ${sent}`),
  'bad-gateway': (sent, response) =>
    response.writeHead(503, { 'Content-Type': 'application/problem+json' }).end(
      JSON.stringify({
        detail: sent,
        sources: [{ registry: sent.slice(0, 60), state: 'unavailable', reason: sent }],
      }),
    ),
  listing: (sent, response) => {
    const item = listingText({ listing_id: 'echo', offer_resource: { note: sent } })
    return response.writeHead(200, { 'Content-Type': 'application/json' }).end(envelopeText([item], 1))
  },
  'not-json': (sent, response) => response.writeHead(200).end(`<h1>${sent}</h1>`),
  redirect: (sent, response) =>
    response.writeHead(302, { Location: `/?key=${encodeURIComponent(sent)}` }).end(),
  later: (sent, response) => response.writeHead(429, { 'Retry-After': sent }).end(sent),
  encoding: (sent, response) => response.writeHead(200, { 'Content-Encoding': sent }).end('x'),
  type: (sent, response) => response.writeHead(200, { 'Content-Type': sent, 'X-Key': sent }).end('{}'),
  'no-http': (sent, response) => response.socket?.end(`HTTP/1.1 200 ${sent}\r\n${sent}\r\n\r\n`),
  reset: (_sent, response) => response.socket?.resetAndDestroy(),
}

const ECHO_NAMES = Object.keys(ECHOES)

/** One server for all of them, each below a path of its own. Resolves with their URLs by name. */
export async function startEchoes(t: ExecutionContext): Promise<ReadonlyMap<string, string>> {
  const server = await listen(t, (request, response) => {
    const [, name = ''] = request.url!.split('/')
    ECHOES[name]?.(request.headers.authorization ?? '', response)
  })
  return new Map(ECHO_NAMES.map((name) => [name, `${server}/${name}`]))
}
