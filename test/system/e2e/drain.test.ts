import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import test from 'ava'
import { eventually } from '../../helpers/eventually.ts'
import { temporaryFile, temporaryStore } from '../../helpers/run-cli.ts'
import { ALICE, publishBody } from '../../helpers/seller.ts'
import { startProcess } from '../../helpers/service-process.ts'
import { readAll } from './read-all.ts'

const BUSY = 24
const SLOW = 8

test('drain: SIGTERM under load cuts no request, and acknowledged publishes remain', async (t) => {
  const file = temporaryFile(t, 'gateway.toml', '[limits]\npublish_per_minute = 0\n')
  const storeUrl = temporaryStore(t)
  const service = await startProcess(storeUrl, { ENTREPOT_CONFIG: file })
  t.teardown(() => service.end('SIGKILL'))
  const signed = await publishBody(ALICE, {})
  const published = new Set<string>()
  let answers = 0

  /** One keep-alive connection, until an answer with `Connection: close`. */
  const client = async (name: string, pauseMs: number): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (let n = 0; ; n++) {
      const id = `${name}-${n}`
      const isRead = n % 2 === 1
      const answer = isRead
        ? await sendRequest(`${service.url}/listings?limit=200`, agent)
        : await sendRequest(`${service.url}/listings`, agent, JSON.stringify({ ...signed, listing_id: id }))
      t.is(answer.status, isRead ? 200 : 201)
      JSON.parse(answer.text)
      if (!isRead) published.add(id)
      answers++
      if (answer.headers.connection === 'close') return
      if (pauseMs > 0) await setTimeout(pauseMs)
    }
  }
  const clients = Promise.all([
    ...Array.from({ length: BUSY }, (_, n) => client(`busy-${n}`, 0)),
    ...Array.from({ length: SLOW }, (_, n) => client(`slow-${n}`, 20 * n)),
  ])
  await eventually(
    '300 answers',
    () => answers,
    (count) => count >= 300,
  )
  const code = await service.end('SIGTERM')
  await clients
  t.is(code, 0)
  t.log({ answers, published: published.size })

  const next = await startProcess(storeUrl, { ENTREPOT_CONFIG: file })
  t.teardown(() => next.end('SIGTERM'))
  t.deepEqual([...(await readAll(next.url)).keys()].sort(), [...published].sort())
})

type Answer = { status: number; headers: IncomingHttpHeaders; text: string }

/** Rejects if the connection is refused or ends before the complete answer. */
const sendRequest = (url: string, agent: Agent, json?: string): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const outgoing = request(url, {
      agent,
      method: json === undefined ? 'GET' : 'POST',
      headers: json === undefined ? {} : { 'Content-Type': 'application/json' },
    })
    outgoing.once('error', reject)
    outgoing.once('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part) => {
        text += part
      })
      response.once('error', reject)
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      )
    })
    outgoing.end(json)
  })
