import type { ServerResponse } from 'node:http'

/** The head of a response as Node has written it: what is before a request's id, and what is behind it. */
export type RepeatedHead = { second: number; before: string; after: string }

/** Where Node keeps a head until it is sent: private, so without it every head is left to Node. */
type WithHead = ServerResponse & { _header?: unknown }

/**
 * Writes the head of a 200. Node checks and joins every header of every response, which takes longer than all the rest
 * of an answer from memory. So one response a second gets its head from Node, with the `Date`, and the others in that
 * second repeat it with an id of their own. Responses that close their connection are left to Node, too.
 * @param headers names and values in turn, a Content-Length among them; the last value is the request's id
 * @param repeated what was returned for the response before with these headers; `null` before the first
 * @returns what to pass for the next
 */
export function writeRepeatedHead(
  response: ServerResponse,
  headers: readonly string[],
  repeated: RepeatedHead | null,
): RepeatedHead | null {
  const second = Math.floor(Date.now() / 1000)
  const id = headers.at(-1)!
  const staysOpen = response.shouldKeepAlive && !response.hasHeader('connection')
  if (repeated?.second === second && staysOpen) {
    const withHead: WithHead = response
    withHead._header = repeated.before + id + repeated.after
    return repeated
  }
  response.writeHead(200, headers as string[])
  const { _header: head } = response as WithHead
  if (!staysOpen || typeof head !== 'string') return repeated
  const name = `\r\n${headers.at(-2)}: `
  const at = head.lastIndexOf(name) + name.length
  return { second, before: head.slice(0, at), after: head.slice(at + id.length) }
}
