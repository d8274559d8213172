import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import test, { type ExecutionContext } from 'ava'
import { eventually } from '../../helpers/eventually.ts'
import { listingTexts } from '../../helpers/fake-registry.ts'
import { gatewayToml, startFake } from '../../helpers/gateway.ts'
import { startRegistry } from '../../helpers/registry.ts'
import { ALICE, publish } from '../../helpers/seller.ts'

/** Far more than the kernel takes for a connection. */
const LISTINGS = 6000
const TEXT = 'x'.repeat(8000)

/** A gateway that gives a reader three seconds, and clients that are nothing but sockets. */
async function start(t: ExecutionContext) {
  const fake = await startFake(t, { items: listingTexts('a', LISTINGS, { text: TEXT }) })
  const service = await startRegistry(t, {
    toml: gatewayToml([{ name: 'a', url: fake.url }]),
    environment: { METRICS_PUBLIC: 'true' },
    stalledMs: 3000,
  })
  const open = async (request: string, times = 1): Promise<Socket> => {
    const { hostname, port } = new URL(service.url)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {}) // reset by the server: `close` follows
    t.teardown(() => socket.destroy())
    await once(socket, 'connect')
    socket.write(request.repeat(times))
    return socket
  }
  return { ...service, open }
}

const STREAM = 'GET /listings HTTP/1.1\r\nHost: a\r\nAccept: application/x-ndjson\r\n\r\n'
const PAGE = 'GET /listings?limit=200 HTTP/1.1\r\nHost: a\r\n\r\n'
const KEPT_PAGE = 'GET /listings?limit=100 HTTP/1.1\r\nHost: a\r\n\r\n'

/** Reads a socket at that many bytes a millisecond, far below what the server sends; keeps the end of what came. */
class SlowReader {
  readonly socket: Socket
  readonly #began = performance.now()
  #taken = 0
  end = ''

  constructor(socket: Socket) {
    this.socket = socket
  }

  read(rate: number): void {
    while (this.#taken < (performance.now() - this.#began) * rate) {
      const bytes = this.socket.read() as Buffer | null
      if (bytes === null) return
      this.#taken += bytes.length
      this.end = (this.end + bytes.toString('latin1')).slice(-2000)
    }
  }
}

test('slow requests: headers that take too long are answered with 408', async (t) => {
  const { url } = await startRegistry(t, { headersMs: 100 })
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  t.teardown(() => socket.destroy())
  socket.write('GET /listings')
  // Timers fire in the order in which they are due, however late they are.
  const late = setTimeout(() => socket.destroy(), 20_000)
  let answer = ''
  for await (const part of socket) answer += part
  clearTimeout(late)
  t.regex(answer, /^HTTP\/1.1 408 /)
})

test('stalled readers: their connection closes, that of a slow reader stays open', async (t) => {
  t.timeout(600_000)
  const { open, get } = await start(t)
  await get('/listings?limit=100')
  const slow = new SlowReader(await open(STREAM))
  const stalled = [await open(STREAM), await open(PAGE, 60), await open(KEPT_PAGE, 120)]
  await eventually('closed', async () => {
    await get('/ready')
    slow.read(2000)
    for (const socket of stalled) socket.write('\n') // one that is not read notices a reset when it writes
    return stalled.every(({ closed }) => closed)
  })
  await eventually('read whole', async () => {
    await get('/ready')
    slow.read(Number.POSITIVE_INFINITY)
    return slow.end.includes('"_meta":{"complete":true')
  })
  t.regex((await get('/metrics')).text, /_requests_total\{route="\/listings",method="GET",status="499"\} \d/)
})

test('stalled readers: a page longer than the kernel takes stays open while its reader takes it slowly', async (t) => {
  t.timeout(600_000)
  const { url, get } = await startRegistry(t, {
    stalledMs: 2000,
    environment: { METRICS_PUBLIC: 'true' },
    toml: '[limits]\npublish_per_minute = 0',
  })
  const { position } = (await get('/changes')).json()
  const offer_resource = { text: 'x'.repeat(62_000) }
  for (let n = 0; n < 200; n++) await publish(url, ALICE, { listing_id: `${n}`, offer_resource })
  const { hostname, port } = new URL(url)
  const open = (request: string): Socket => {
    const socket = connect(Number(port), hostname)
    t.teardown(() => socket.destroy())
    socket.on('error', () => {})
    socket.write(`GET ${request}\r\n\r\n`)
    return socket
  }
  const slow = new SlowReader(open('/listings?limit=200 HTTP/1.1\r\nHost: a\r\nConnection: close'))
  await eventually('read', async () => {
    await get('/ready')
    slow.read(2000)
    return slow.socket.closed
  })
  t.regex(slow.end, /"total_after_filter":200\}$/)

  // Streams of changes are no other answers: one that is not read is closed, and another one has all.
  const stream = `/changes?since=${position} HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream`
  const stalled = open(stream)
  const reader = open(stream)
  let events = ''
  reader.on('data', (bytes: Buffer) => {
    events += bytes.toString('latin1')
  })
  await eventually('closed', () => {
    stalled.write('\n')
    return stalled.closed
  })
  await eventually('read', () => events.split('data: ').length === 201)
  t.false(reader.closed)
  t.regex((await get('/metrics')).text, /^entrepot_watchers 1$/m)
})
