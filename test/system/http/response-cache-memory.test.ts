import { connect } from 'node:net'
import test from 'ava'
import { startProcess } from '../../helpers/service-process.ts'

const REQUESTS = 10_000
/**
 * Each cached response takes 14 KiB more with it: all of them would not fit into the heap. Those of the cache's limit leave it
 * so much that the collector has little to do.
 */
const LONG = 'x'.repeat(7000)
/** Requests on their way at once. */
const AHEAD = 64
const ANSWERED = 'HTTP/1.1 200 OK'
const HEAP_MB = 136
/** An idle process takes some 150 MB, and more while the collector lags behind. */
const MAX_RESIDENT_BYTES = 400e6

/** Sends `REQUESTS` different queries, half of them with a key. Resolves with the number of 200s. */
const askApart = (url: string): Promise<number> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    let sent = 0
    let answered = 0
    let rest = ''
    const ask = (): void => {
      let text = ''
      for (; sent < REQUESTS && sent - answered < AHEAD; sent++) {
        const key = sent % 2 === 0 ? '' : 'Authorization: Bearer reader\r\n'
        text += `GET /listings?gpu_model=${sent}${LONG} HTTP/1.1\r\nHost: a\r\n${key}\r\n`
      }
      socket.write(text)
    }
    socket.on('error', () => {}) // the process has died: `close` follows
    socket.on('close', () => resolve(answered))
    socket.on('data', (bytes) => {
      const text = rest + bytes.toString('latin1')
      answered += text.split(ANSWERED).length - 1
      rest = text.slice(1 - ANSWERED.length)
      if (answered < REQUESTS) ask()
      else socket.destroy()
    })
    ask()
  })

test('memory: 10,000 different long queries fit into a heap of 136 MB', async (t) => {
  t.timeout(600_000)
  const service = await startProcess('sqlite::memory:', {
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
    METRICS_PUBLIC: 'true',
    REGISTRY_BOOTSTRAP_API_KEY: 'reader',
  })
  t.teardown(() => service.end('SIGKILL'))
  t.is(await askApart(service.url), REQUESTS)
  const metrics = await (await fetch(`${service.url}/metrics`)).text()
  const resident = Number(/^process_resident_memory_bytes (\d+)/m.exec(metrics)?.[1])
  t.true(resident < MAX_RESIDENT_BYTES, `${resident} bytes are resident`)
})
