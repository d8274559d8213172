import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { threadId } from 'node:worker_threads'

/**
 * Below the ports of outgoing connections (from 32,768 on Linux), so that a restarted server finds its port free. The ports
 * 10,000 above are as well, which a Redis Cluster uses. Above 10,080, which `fetch()` refuses.
 */
const LOWEST = 11_000
const COUNT = 10_000
/** Each test file runs in a thread of its own. Ports of its own keep two files from taking one port between check and use. */
const PER_THREAD = 32
const TRIES = 1000

let next = process.pid * 131 + threadId * PER_THREAD

/** Different free ports of the loopback, each given once in a test file. */
export async function freePorts(count: number): Promise<number[]> {
  const reserved: { port: number; server: Server }[] = []
  for (let tries = 0; reserved.length < count; tries++) {
    if (tries === TRIES) throw new Error('no free port')
    const port = LOWEST + (next++ % COUNT)
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
