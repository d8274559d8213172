import { once } from 'node:events'
import { get as httpGet, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import test, { type ExecutionContext } from 'ava'
import { eventually } from '../../helpers/eventually.ts'
import { startRegistry } from '../../helpers/registry.ts'
import { ALICE, publish } from '../../helpers/seller.ts'

const LISTINGS = 200
const LISTING_BYTES = 60_000
const PAGE_BYTES = LISTINGS * LISTING_BYTES
/** Of a page that the response cache keeps. */
const FEW = 16
/** More than the kernel takes of a connection. */
const PIPELINED = 40
/** Pages of 12 MB, of which the kernel takes less than one. */
const UNREAD = 12

/** A Registry whose longest page has 12 MB, and clients that do not read by themselves. */
async function start(t: ExecutionContext) {
  const service = await startRegistry(t)
  const offer_resource = { gpu_model: 'H200', text: 'x'.repeat(LISTING_BYTES) }
  for (let n = 0; n < LISTINGS; n++) await publish(service.url, ALICE, { listing_id: `${n}`, offer_resource })
  const { hostname, port } = new URL(service.url)
  const open = async (requests: string): Promise<Socket> => {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {}) // cut when the test ends
    t.teardown(() => socket.destroy())
    await once(socket, 'connect')
    socket.write(requests)
    return socket
  }
  const readFrom = async (localAddress: string, path: string) => {
    const [response] = (await once(httpGet(`${service.url}${path}`, { localAddress }), 'response')) as [
      IncomingMessage,
    ]
    const { statusCode: status, headers } = response
    return { status, headers, body: await text(response) }
  }
  return { ...service, open, readFrom }
}

/** Every request has its own query, so that no answer is one that was kept. */
const request = (n: number): string =>
  `GET /listings?limit=${LISTINGS}&z${n}= HTTP/1.1\r\nHost: a\r\nX-Request-Id: n${n}\r\n\r\n`

/** The ids and lengths of all answers in the order in which they come. */
async function readAnswers(socket: Socket, count: number): Promise<{ id: string; bytes: number }[]> {
  const answers: { id: string; bytes: number }[] = []
  let head = ''
  let left = 0
  for await (const part of socket as AsyncIterable<Buffer>) {
    for (let rest = part; rest.length > 0; ) {
      const taken = Math.min(left, rest.length)
      left -= taken
      rest = rest.subarray(taken)
      if (left > 0 || rest.length === 0) continue
      const known = head.length
      head += rest.toString('latin1')
      const end = head.indexOf('\r\n\r\n')
      if (end < 0) break
      const [, id] = /^X-Request-Id: (\w+)/m.exec(head)!
      left = Number(/^Content-Length: (\d+)/m.exec(head)![1])
      answers.push({ id: id!, bytes: left })
      rest = rest.subarray(end + 4 - known)
      head = ''
    }
    if (answers.length === count && left === 0) break
  }
  return answers
}

test.serial(
  'unsent answers: pipelined requests that are not read hold one page, and all are answered in order',
  async (t) => {
    t.timeout(300_000)
    const { open, get } = await start(t)
    await get(`/listings?limit=${LISTINGS}`)
    const before = process.memoryUsage().arrayBuffers
    const socket = await open(Array.from({ length: UNREAD }, (_, n) => request(n)).join(''))
    // Other readers are answered meanwhile, so the service has had turns for everything that it would do.
    for (let n = 0; n < UNREAD; n++) t.is((await get('/listings?limit=1')).status, 200)
    const held = process.memoryUsage().arrayBuffers - before
    t.true(held < 5 * PAGE_BYTES, `${held} bytes for ${UNREAD} pages`)
    const answers = await readAnswers(socket, UNREAD)
    t.deepEqual(
      answers.map(({ id }) => id),
      Array.from({ length: UNREAD }, (_, n) => `n${n}`),
    )
    t.true(answers.every(({ bytes }) => bytes > PAGE_BYTES))
  },
)

const readers: Record<string, { requests: string; count: number }> = {
  'of pages that are made for them': { requests: request(0), count: 2 },
  'of pages that are kept': {
    requests: `GET /listings?limit=${FEW} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(PIPELINED),
    count: 30,
  },
}
for (const [kind, { requests, count }] of Object.entries(readers))
  test.serial(
    `unsent answers: readers ${kind} use up the share of their address, and no other`,
    async (t) => {
      t.timeout(300_000)
      const { open, readFrom } = await start(t)
      await readFrom('127.0.0.1', `/listings?limit=${FEW}`)
      const stalled = []
      for (let n = 0; n < count; n++) stalled.push(await open(requests))
      const path = `/listings?limit=${FEW}`
      const read = () => readFrom('127.0.0.1', path)
      const answer = await eventually('refused', read, ({ status }) => status === 503)
      t.is(answer.headers['retry-after'], '5')
      t.is(answer.headers['content-type'], 'application/problem+json; charset=utf-8')
      t.regex(JSON.parse(answer.body).detail, /^Answers of 16 MiB wait for readers at your address: /)
      t.is((await readFrom('127.0.0.1', '/health')).status, 200)
      t.is((await readFrom('127.0.0.1', '/listings?gpu_model=none')).status, 200)
      const other = await readFrom('127.0.0.2', `/listings?limit=${LISTINGS}`)
      t.is(other.status, 200)
      t.true(other.body.length > PAGE_BYTES)
      for (const socket of stalled) socket.destroy()
      const served = await eventually('served again', read, ({ status }) => status === 200)
      t.is(JSON.parse(served.body).count, FEW)
    },
  )
