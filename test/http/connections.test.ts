import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import test, { type ExecutionContext } from 'ava'
import { ANONYMOUS } from '../../src/domain/api-key.ts'
import { createApp } from '../../src/http/app.ts'
import { Connections } from '../../src/http/connections.ts'
import { ResponseCache } from '../../src/http/response-cache.ts'
import { createLogger } from '../../src/log.ts'
import { manualClock } from '../helpers/manual-clock.ts'

const [IDLE_MS, MAX_MS] = [1000, 10_000]

/** A server that answers with what `listener` makes of it, and clients that are nothing but sockets. */
async function start(t: ExecutionContext, listener: RequestListener) {
  const server = createServer()
  const clock = manualClock()
  const connections = new Connections(clock)
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
  return { open, clock, drain: () => connections.drain(server, { idleMs: IDLE_MS, maxMs: MAX_MS }) }
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

  /** The paths that were answered. */
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

test('draining: a request that arrives is answered as the last of its connection', async (t) => {
  const { open, drain } = await start(t, echo)
  const clients = [await open(), await open()]
  clients[1]!.ask('/before')
  await clients[1]!.answered()
  t.false(clients[1]!.last)
  const drained = drain()
  for (const client of clients) client.ask('/while')
  await drained
  await Promise.all(clients.map(({ ended }) => ended))
  t.deepEqual(
    clients.map(({ answers, last }) => [answers, last]),
    [
      [['/while'], true],
      [['/before', '/while'], true],
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
  const drained = drain()
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
  const drained = drain()
  await t.throwsAsync(open(), { code: 'ECONNREFUSED' })
  client.ask()
  await drained
})

test('draining: a request that takes too long is cut', async (t) => {
  const due = new Map<string, () => void>()
  const { open, clock, drain } = await start(t, (request, response) =>
    due.set(request.url!, () => echo(request, response)),
  )
  const [late, cut] = [await open(), await open()]
  late.ask('/late')
  cut.ask('/cut')
  while (due.size < 2) await new Promise((resolve) => setImmediate(resolve))
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
  const app = createApp({
    routes: [{ method: 'GET', path: '/', gate: 'read', summary: '', responses: {}, handle }],
    authorize: () => ANONYMOUS,
    log: createLogger('silent'),
    responseCache: new ResponseCache(),
    rateLimit: () => null,
    onAnswered,
  })
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
  await drain()
})
