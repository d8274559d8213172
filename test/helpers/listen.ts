import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Teardown } from './registry.ts'

/** The URL of a server on a free port of the loopback, closed with its connections when the test ends. */
export async function listen(t: Teardown, listener: RequestListener): Promise<string> {
  const server = createServer(PATIENT, listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** For servers: a process that stands still for seconds finds its idle connections open, as on a machine that is not busy. */
export const PATIENT = { keepAliveTimeout: 600_000 } as const
