import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/**
 * Below the ports that systems give to outgoing connections (from 32,768 on Linux), so that what is ended finds its port
 * free when it is started again; so are the ports 10,000 above, which a Redis Cluster takes, too.
 */
const LOWEST = 10_000
const BEHIND_HIGHEST = 20_000
const TRIES = 100

/** Ports of the loopback on which nothing listens, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const held: { port: number; server: Server }[] = []
  for (let tries = 0; held.length < count; tries++) {
    if (tries === TRIES) throw new Error('no free port')
    const port = randomInt(LOWEST, BEHIND_HIGHEST)
    const server = await hold(port)
    if (server !== null) held.push({ port, server })
  }
  await Promise.all(held.map(({ server }) => once(server.close(), 'close')))
  return held.map(({ port }) => port)
}

export const freePort = async (): Promise<number> => (await freePorts(1))[0]!

/** `null` where another process has it. */
async function hold(port: number): Promise<Server | null> {
  const server = createServer().listen(port, '127.0.0.1')
  return once(server, 'listening').then(
    () => server,
    () => null,
  )
}
