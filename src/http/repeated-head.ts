import type { ServerResponse } from 'node:http'

export type RepeatedHead = { second: number; before: string; after: string }

/** Private to Node. Without it, Node writes every head. */
type WithHead = ServerResponse & { _header?: unknown }

/**
 * Writes the head of a 200. Node's work on all headers takes longer than the rest of an answer from memory.
 * So Node writes one head a second, with its `Date`, and the others repeat it with their own id.
 * @param headers names and values in turn, Content-Length included; the last value is the request's id
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
