import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import test, { type ExecutionContext } from 'ava'
import { Connections } from '../../../src/http/connections.ts'
import { eventually } from '../../helpers/eventually.ts'
import { manualClock } from '../../helpers/manual-clock.ts'
import { oneRouteApp } from '../../helpers/one-route-app.ts'

const [IDLE_MS, MAX_MS] = [1000, 10_000]

/** A server that answers with what `listener` makes of it, and clients that are nothing but sockets. */
async function start(t: ExecutionContext, listener: RequestListener) {
  const server = createServer()
  const clock = manualClock()
  const connections = new Connections(clock)
  connections.watch(server, listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const dial = (): Client => new Client(connect(port, '127.0.0.1'))
  const open = async (): Promise<Client> => {
    const client = dial()
    await once(client.socket, 'connect')
    return client
  }
  const drain = () => connections.drain(server, { idleMs: IDLE_MS, maxMs: MAX_MS })
  return { dial, open, clock, drain, isListening: () => server.listening }
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
    this.socket.write(request(path))
  }

  /** The paths that were answered. */
  get answers(): string[] {
    return [...this.received.matchAll(/\/\w*!/g)].map(([path]) => path.slice(0, -1))
  }

  get last(): boolean {
    return /connection: close/i.test(this.received)
  }

  async answered(count = 1): Promise<void> {
    await eventually(
      `answered ${count} times`,
      () => this.answers.length,
      (length) => length >= count,
    )
  }
}

const request = (path: string, padding = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: test\r\nX: ${padding}\r\n\r\n`

const echo: RequestListener = ({ url }, response) => void response.end(`${url}!`)

test('draining: idle and unused connections close after idleMs, not before', async (t) => {
  const { open, clock, drain } = await start(t, echo)
  const unused = [await open(), await open()]
  // Opened last: once they are answered, the server has all four connections.
  const idle = [await open(), await open()]
  for (const client of idle) client.ask('/before')
  await Promise.all(idle.map((client) => client.answered()))
  const drained = drain()
  clock.advance(IDLE_MS - 1)
  const late = [unused[0]!, idle[0]!]
  for (const client of late) client.ask('/late')
  await Promise.all(late.map(({ ended }) => ended))
  clock.advance(1)
  await drained
  await Promise.all([...unused, ...idle].map(({ ended }) => ended))
  t.deepEqual(
    [...unused, ...idle].map(({ answers }) => answers),
    [['/late'], [], ['/before', '/late'], ['/before']],
  )
})

test('draining: all requests in flight are answered, pipelined ones included', async (t) => {
  const due: (() => void)[] = []
  const sockets: Socket[] = []
  const { open, drain } = await start(t, (request, response) => {
    sockets.push(request.socket)
    due.push(() => echo(request, response))
  })
  const [single, pipelined] = [await open(), await open()]
  single.ask('/a')
  for (const path of ['/b', '/c', '/d']) pipelined.ask(path)
  await eventually('asked by both', () => due.length === 2)
  const drained = drain()
  pipelined.ask('/e')
  await eventually('read', () => sockets.some(({ bytesRead }) => bytesRead === pipelined.socket.bytesWritten))
  for (let answered = 0; answered < 5; answered++) {
    await eventually('the next request', () => due.length > 0)
    due.shift()!()
  }
  await drained
  await Promise.all([single.ended, pipelined.ended])
  t.deepEqual(single.answers, ['/a'])
  t.true(single.last)
  t.deepEqual(pipelined.answers, ['/b', '/c', '/d', '/e'])
  t.true(pipelined.last)
})

test('draining: connections that Node has not accepted yet are answered', async (t) => {
  const { dial, drain } = await start(t, echo)
  const clients = Array.from({ length: 20 }, dial)
  for (const client of clients) client.ask('/pending')
  await drain()
  await Promise.all(clients.map(({ ended }) => ended))
  t.true(clients.every(({ answers, last }) => answers.join() === '/pending' && last))
})

test('draining: a request that takes too long is cut', async (t) => {
  const due = new Map<string, () => void>()
  const { open, clock, drain } = await start(t, (request, response) =>
    due.set(request.url!, () => echo(request, response)),
  )
  const [late, cut] = [await open(), await open()]
  late.ask('/late')
  cut.ask('/cut')
  await eventually('asked by both', () => due.size === 2)
  const drained = drain()
  clock.advance(MAX_MS - 1)
  due.get('/late')!()
  await late.ended
  t.deepEqual(late.answers, ['/late'])
  clock.advance(1)
  await drained
  await cut.ended
  t.is(cut.received, '')
})

test('draining: a request that is cut is recorded with 499, though its answer is ready', async (t) => {
  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
  const { promise: isAsked, resolve: ask } = Promise.withResolvers<void>()
  const { promise: answered, resolve: onAnswered } = Promise.withResolvers<{ status: number }>()
  const handle = async () => {
    ask()
    await isReleased
    return { body: 'ready' }
  }
  const app = oneRouteApp({ path: '/', handle, onAnswered })
  const { open, clock, drain } = await start(t, app.callback())
  const client = await open()
  client.ask()
  await isAsked
  const drained = drain()
  clock.advance(MAX_MS)
  release()
  t.is((await answered).status, 499)
  await drained
  await client.ended
  t.is(client.received, '')
})

test('pipelined requests: while many wait, the connection is not read, and none is lost', async (t) => {
  const due: (() => void)[] = []
  const { open } = await start(t, (request, response) => due.push(() => echo(request, response)))
  const client = await open()
  const paths = Array.from({ length: 2000 }, (_, n) => `/${n}`)
  for (const path of paths) client.socket.write(request(path, 'x'.repeat(8000)))
  await eventually('the first request', () => due.length > 0)
  // Enough turns to read everything, were it read.
  for (let turn = 0; turn < 20_000 && client.socket.writableLength > 0; turn++) await nextTurn()
  t.true(client.socket.writableLength > 0)
  for (const _ of paths) {
    await eventually('the next request', () => due.length > 0)
    due.shift()!()
  }
  await client.answered(paths.length)
  t.deepEqual(client.answers, paths)
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
    if (sent[0] === '/begun') await eventually('begun', () => client.received.includes('begun!'))
    client.socket.write('no HTTP at all\r\n\r\n')
    await client.ended
    answered.push(client.received.includes('HTTP/1.1 400 Bad Request'))
  }
  t.deepEqual(answered, [true, true, true, false, false])
  await drain()
})
