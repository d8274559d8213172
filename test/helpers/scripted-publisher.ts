import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { ExecutionContext } from 'ava'
import { listen } from './listen.ts'

/** A write as it arrives. Of a delete, the parameters. */
type Signed = {
  listing_id: string
  signature: string
  timestamp: number
  storefront_url?: string
  status?: string
}
/** A status with its headers, or with the value of `Retry-After`; a closed connection; nothing. */
export type WriteAnswer =
  | readonly [status: number, headers?: Record<string, string> | string | undefined]
  | 'reset'
  | null

/** A Registry without a filter spec that answers each write as `answer` says, with a receipt below 300. */
export async function startPublisher(
  t: ExecutionContext,
  answer: (signed: Signed, n: number) => WriteAnswer | Promise<WriteAnswer>,
): Promise<{ url: string; requests: Signed[] }> {
  const requests: Signed[] = []
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method === 'GET') return void response.writeHead(404).end()
    const body = await text(request)
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://x')
    const signed: Signed = body === '' ? Object.fromEntries(searchParams) : JSON.parse(body)
    const outcome = await answer(signed, requests.push(signed) - 1)
    if (outcome === null) return
    if (outcome === 'reset') return void request.socket.resetAndDestroy()
    const [status, more] = outcome
    const headers = typeof more === 'string' ? { 'retry-after': more } : more
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    const listing_id = signed.listing_id ?? pathname.split('/').at(-1)
    const receipt = { listing_id, status: signed.status ?? 'open' }
    response.end(status === 204 ? '' : JSON.stringify(status < 300 ? receipt : { detail: 'scripted' }))
  }
  return { url: await listen(t, (request, response) => void respond(request, response)), requests }
}
