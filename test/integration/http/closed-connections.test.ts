import { EventEmitter, once } from 'node:events'
import { connect } from 'node:net'
import test, { type ExecutionContext } from 'ava'
import { pino } from 'pino'
import { eventually } from '../../helpers/eventually.ts'
import { envelopeText } from '../../helpers/fake-registry.ts'
import { startPatientGateway } from '../../helpers/gateway.ts'
import { listen } from '../../helpers/listen.ts'
import { manualClock } from '../../helpers/manual-clock.ts'

const environment = { METRICS_PUBLIC: 'true' }

/** A gateway over three Registries that answer no question after their first pull, with the lines that the gateway has logged. */
async function start(t: ExecutionContext) {
  const lines: { level: number; msg: string; status?: number }[] = []
  const log = pino({ level: 'debug' }, { write: (line) => void lines.push(JSON.parse(line)) })
  const asked = new EventEmitter()
  let isSilent = false
  const url = await listen(t, (request, response) => {
    const { pathname } = new URL(request.url!, url)
    if (!pathname.includes('/listings')) response.writeHead(404).end('{}')
    else if (isSilent) asked.emit(pathname)
    else response.end(envelopeText([], 0))
  })
  const clock = manualClock()
  const upstreams = ['a', 'b', 'c'].map((name) => ({ name, url: `${url}/${name}` }))
  const service = await startPatientGateway(t, upstreams, { environment, log, clock })
  isSilent = true
  // After a second they are asked again.
  clock.advance(1000)
  const counted = async (series: string): Promise<void> => {
    const metrics = async () => (await service.get('/metrics')).text
    await eventually(`counted as ${series}`, metrics, (text) =>
      text.includes(`entrepot_requests_total{${series}\n`),
    )
  }
  return { ...service, asked, lines, counted }
}

const NDJSON = { Accept: 'application/x-ndjson' }

test('closed connections: counted as 499 and not logged as faults', async (t) => {
  const { url, asked, lines, counted } = await start(t)
  const paths: [path: string, asks: string, headers?: Record<string, string>][] = [
    ['/listings?sources=a', '/a/listings'],
    ['/listings?sources=b&status=', '/b/listings'],
    ['/listings?sources=c', '/c/listings', NDJSON],
    ['/listings/somewhere', '/a/listings/somewhere'],
    ['/listings/elsewhere', '/a/listings/elsewhere'],
  ]
  for (const [path, asks, more] of paths) {
    const leaving = new AbortController()
    const isAsked = once(asked, asks)
    const headers = { 'Cache-Control': 'no-cache', ...more }
    const reading = fetch(url + path, { headers, signal: leaving.signal })
    await isAsked
    leaving.abort()
    await t.throwsAsync(reading)
  }
  await counted('route="/listings",method="GET",status="499"} 3')
  await counted('route="/listings/:id",method="GET",status="499"} 2')
  t.deepEqual(
    lines.filter(({ level }) => level > 30),
    [],
  )
  t.is(lines.filter(({ status }) => status === 499).length, paths.length)
})

test('closed connections: a body that ends early is counted as 499', async (t) => {
  const { url, get, lines, counted } = await start(t)
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.write('POST /listings HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{"listing_id"')
  socket.destroy()
  await counted('route="/listings",method="POST",status="499"} 1')
  t.is((await get('/publishers')).json().count, 0)
  t.deepEqual(
    lines.filter(({ level }) => level > 30),
    [],
  )
})
