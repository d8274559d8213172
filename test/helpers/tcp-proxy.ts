import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { eventually } from './eventually.ts'

/** An address that can be redirected to another server, or cut. */
type TcpProxy = {
  port: number
  /** New connections go to this port; open ones stay. */
  moveTo: (port: number) => void
  /** Ends every connection and refuses new ones, until `mend`. */
  cut: () => void
  mend: () => void
  /** Resolves when no connection to this port is open. */
  left: (port: number) => Promise<void>
  close: () => void
}

export async function startTcpProxy(firstPort: number): Promise<TcpProxy> {
  let target: number | null = firstPort
  let lastTarget = firstPort
  const open = new Map<Socket, number>()
  const server = createServer((client) => {
    client.on('error', () => {})
    if (target === null) {
      client.destroy()
      return
    }
    open.set(client, target)
    const upstream = connect(target, '127.0.0.1')
    upstream.on('error', () => {})
    client.pipe(upstream).pipe(client)
    client.once('close', () => {
      open.delete(client)
      upstream.destroy()
      server.emit('left')
    })
    upstream.once('close', () => client.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = (): void => {
    target = null
    for (const client of open.keys()) client.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    moveTo: (port) => {
      target = port
      lastTarget = port
    },
    cut,
    mend: () => {
      target = lastTarget
    },
    left: async (port) => {
      await eventually('without connections', () => [...open.values()].every((other) => other !== port))
    },
    close: () => {
      cut()
      server.close()
    },
  }
}
