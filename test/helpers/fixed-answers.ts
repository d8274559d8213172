import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ExecutionContext } from 'ava'

/**
 * A server that answers with these bodies, by path and query or by method and path, and 404 otherwise. The status is 200
 * where none is given. The query of a
 * signature is ignored. Closed when the test ends.
 */
export async function startServer(
  t: ExecutionContext,
  answers: Readonly<Record<string, string | [status: number, body: string]>>,
): Promise<string> {
  const server = createServer(({ method, url = '' }, response) => {
    const path = url.replace(/\?signature=.*/, '')
    const answer = answers[`${method} ${path}`] ?? answers[path] ?? [404, '']
    const [status, body] = typeof answer === 'string' ? [200, answer] : answer
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
