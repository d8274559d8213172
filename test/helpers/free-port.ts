import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/**
 * Below the ports of outgoing connections (from 32,768 on Linux), so that a restarted server finds its port free. The ports
 * 10,000 above are as well, which a Redis Cluster uses.
 */
const LOWEST = 10_000
const BEHIND_HIGHEST = 20_000
const TRIES = 100

/** Different free ports of the loopback. */
export async function freePorts(count: number): Promise<number[]> {
  const reserved: { port: number; server: Server }[] = []
  for (let tries = 0; reserved.length < count; tries++) {
    if (tries === TRIES) throw new Error('no free port')
    const port = randomInt(LOWEST, BEHIND_HIGHEST)
    const server = await hold(port)
    if (server !== null) reserved.push({ port, server })
  }
  await Promise.all(reserved.map(({ server }) => once(server.close(), 'close')))
  return reserved.map(({ port }) => port)
}

export const freePort = async (): Promise<number> => (await freePorts(1))[0]!

/** `null` if another process uses it. */
async function hold(port: number): Promise<Server | null> {
  const server = createServer().listen(port, '127.0.0.1')
  return once(server, 'listening').then(
    () => server,
    () => null,
  )
}
