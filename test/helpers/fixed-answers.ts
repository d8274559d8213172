import type { ExecutionContext } from 'ava'
import { listen } from './listen.ts'

/**
 * A server that answers with these bodies, by path and query or by method and path, and 404 otherwise. The status is 200
 * where none is given. The query of a
 * signature is ignored.
 */
export function startServer(
  t: ExecutionContext,
  answers: Readonly<Record<string, string | [status: number, body: string]>>,
): Promise<string> {
  return listen(t, ({ method, url = '' }, response) => {
    const path = url.replace(/\?signature=.*/, '')
    const answer = answers[`${method} ${path}`] ?? answers[path] ?? [404, '']
    const [status, body] = typeof answer === 'string' ? [200, answer] : answer
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  })
}
