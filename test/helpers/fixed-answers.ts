import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ExecutionContext } from 'ava'

/**
 * A server that answers 200 with these bodies, by path and query or by method and path, and 404 otherwise. The query of a
 * signature is ignored. Closed when the test ends.
 */
export async function startServer(
  t: ExecutionContext,
  bodies: Readonly<Record<string, string>>,
): Promise<string> {
  const server = createServer(({ method, url = '' }, response) => {
    const path = url.replace(/\?signature=.*/, '')
    const body = bodies[`${method} ${path}`] ?? bodies[path]
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' }).end(body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
