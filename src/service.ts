import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Context } from './context/context.ts'
import { ConfigError } from './errors.ts'
import { Connections, MAX_HEADER_BYTES } from './http/connections.ts'

export type Service = {
  /** `http://host:port`, with the actual port where `PORT` is 0. */
  url: string
  /** `idleMs` (default 0): how long kept-alive connections stay open for a last request. */
  close: (idleMs?: number) => Promise<void>
}

const DRAIN_MS = 10_000
const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 30_000
/** Longer than proxies and clients keep idle connections, so that they close them and not the server. */
const KEEP_ALIVE_MS = 65_000

/**
 * @param options `stalledMs`: how long a reader may take nothing of a response; default: 30 s
 * @throws ConfigError when the address cannot be listened on
 */
export async function startService(
  context: Context,
  { stalledMs }: { stalledMs?: number | undefined } = {},
): Promise<Service> {
  const server = createServer({
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
  })
  const connections = new Connections()
  connections.watch(server, context.listener, stalledMs)
  const { host, port } = context.config
  try {
    await listen(server, host, port)
  } catch (cause) {
    await context.close()
    throw new ConfigError([{ path: 'PORT', message: cannotListen(cause, host, port) }])
  }
  const address = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    close: async (idleMs = 0) => {
      await connections.drain(server, { idleMs, maxMs: DRAIN_MS })
      await context.close()
    },
  }
}

const listen = (server: Server, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })

function cannotListen(cause: unknown, host: string, port: number): string {
  const { code, message } = cause as NodeJS.ErrnoException
  if (code === 'EADDRINUSE')
    return `port ${port} on ${host} is taken; set PORT to another, or end what listens there`
  return `cannot listen on ${host}:${port}: ${message}`
}
