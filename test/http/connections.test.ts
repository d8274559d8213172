import { EventEmitter, once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import test, { type ExecutionContext } from 'ava'
import { Connections } from '../../src/http/connections.ts'

/** Longer than any test waits. */
const NEVER_MS = 60_000

/** A server that answers with what `listener` makes of it, and clients that are nothing but sockets. */
async function start(t: ExecutionContext, listener: RequestListener) {
  const server = createServer()
  const connections = new Connections()
  connections.watch(server, listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.closeAllConnections())
  const { port } = server.address() as AddressInfo
  const open = async (): Promise<Client> => {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    return new Client(socket)
  }
  return { open, drain: (idleMs: number, maxMs = NEVER_MS) => connections.drain(server, { idleMs, maxMs }) }
}

class Client {
  readonly socket: Socket
  readonly ended: Promise<void>
  received = ''

  constructor(socket: Socket) {
    this.socket = socket
    this.ended = new Promise((resolve) => socket.once('close', () => resolve()))
    socket.on('error', () => {}) // cut: `close` follows
    socket.on('data', (text) => {
      this.received += text
    })
  }

  ask(path = '/'): void {
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: test\r\n\r\n`)
  }

  /** The paths that were answered, and whether the newest answer says that it is the last. */
  get answers(): string[] {
    return [...this.received.matchAll(/\/\w*!/g)].map(([path]) => path.slice(0, -1))
  }

  get last(): boolean {
    return /connection: close/i.test(this.received)
  }

  async answered(count = 1): Promise<void> {
    while (this.answers.length < count) await once(this.socket, 'data')
  }
}

const echo: RequestListener = ({ url }, response) => void response.end(`${url}!`)

test('draining: idle and unused connections close after idleMs, not before', async (t) => {
  const { open, drain } = await start(t, echo)
  const [idle, unused] = [await open(), await open()]
  idle.ask()
  await idle.answered()
  const order: string[] = []
  for (const [name, { ended }] of Object.entries({ idle, unused })) ended.then(() => order.push(name))
  // Timers fire in the order in which they are due, however late they are.
  setTimeout(() => order.push('half of the time'), 100)
  await drain(200)
  await Promise.all([idle.ended, unused.ended])
  t.deepEqual([order[0], order.length], ['half of the time', 3])
})

test('draining: a request that arrives is answered as the last of its connection', async (t) => {
  const { open, drain } = await start(t, echo)
  const clients = [await open(), await open()]
  clients[0]!.ask('/before')
  await clients[0]!.answered()
  t.false(clients[0]!.last)
  const drained = drain(NEVER_MS)
  for (const client of clients) client.ask('/while')
  await drained
  await Promise.all(clients.map(({ ended }) => ended))
  t.deepEqual(
    clients.map(({ answers, last }) => [answers, last]),
    [
      [['/before', '/while'], true],
      [['/while'], true],
    ],
  )
})

test('draining: all requests in flight are answered, pipelined ones included', async (t) => {
  const due: (() => void)[] = []
  const { open, drain } = await start(t, (request, response) => due.push(() => echo(request, response)))
  const [single, pipelined] = [await open(), await open()]
  single.ask('/a')
  for (const path of ['/b', '/c', '/d']) pipelined.ask(path)
  while (due.length < 4) await new Promise((resolve) => setImmediate(resolve))
  const drained = drain(0)
  pipelined.ask('/e')
  while (due.length < 5) await new Promise((resolve) => setImmediate(resolve))
  for (const answer of due.splice(0)) answer()
  await drained
  await Promise.all([single.ended, pipelined.ended])
  t.deepEqual(single.answers, ['/a'])
  t.true(single.last)
  t.deepEqual(pipelined.answers, ['/b', '/c', '/d', '/e'])
  t.true(pipelined.last)
})

test('draining: no new connection is accepted', async (t) => {
  const { open, drain } = await start(t, echo)
  const client = await open()
  const drained = drain(NEVER_MS)
  await t.throwsAsync(open(), { code: 'ECONNREFUSED' })
  client.ask()
  await drained
})

test('draining: a request that takes too long is cut', async (t) => {
  const asked = new EventEmitter()
  const { open, drain } = await start(t, () => asked.emit('request'))
  const client = await open()
  client.ask()
  await once(asked, 'request')
  const order: string[] = []
  client.ended.then(() => order.push('cut'))
  setTimeout(() => order.push('half of the time'), 150)
  await drain(0, 300)
  await client.ended
  t.deepEqual(order, ['half of the time', 'cut'])
  t.is(client.received, '')
})

test('invalid bytes: answered with a problem unless a response is in progress', async (t) => {
  const { open, drain } = await start(t, (request, response) => {
    if (request.url === '/begun') response.write('begun!')
    else if (request.url !== '/late') echo(request, response)
  })
  const paths: readonly (readonly string[])[] = [[], ['/done'], ['/late'], ['/begun'], ['/late', '/behind']]
  const answered = []
  for (const sent of paths) {
    const client = await open()
    for (const path of sent) client.ask(path)
    if (sent[0] === '/done') await client.answered()
    if (sent[0] === '/begun') while (!client.received.includes('begun!')) await once(client.socket, 'data')
    client.socket.write('no HTTP at all\r\n\r\n')
    await client.ended
    answered.push(client.received.includes('HTTP/1.1 400 Bad Request'))
  }
  t.deepEqual(answered, [true, true, true, false, false])
  await drain(0)
})
