import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import fc from 'fast-check'
import type { OpenApiDocument } from '../../../src/http/docs/openapi.ts'
import { type AnnouncedAnswer, announcedBy } from '../../helpers/announced.ts'
import { ALICE, BOB, publishBody, sign, unixNow } from '../../helpers/seller.ts'
import { authorityEnvironment } from '../../helpers/signed-reader.ts'
import type { FuzzRequest } from './messages.ts'
import { fuzzRequests, type Seeds } from './requests.ts'
import { signDraft, signedDrafts } from './signed.ts'
import type { VictimSays } from './victim.ts'

const ADMIN_KEY = 'fuzz-admin'
const LISTING_IDS = ['a', 'b', 'c/d', 'é🚀', '%2F']
/** Requests under way at once. */
const CONCURRENCY = 16
const BATCH = 500
/** Enough to see what is wrong. */
const MAX_WRONGS = 3

export type FuzzLine = 'plain' | 'signed'

/** A service under attack. */
type Victim = {
  /** Sends `count` generated requests. Resolves with up to `MAX_WRONGS` faults of the answers. One seed gives the same requests. */
  attack: (count: number, seed: number, line?: FuzzLine) => Promise<string[]>
  /** Bytes of JavaScript memory held after a garbage collection. */
  heldBytes: () => Promise<number>
  /** Whether it still answers as it should. */
  isWell: () => Promise<boolean>
  end: () => void
}

/** Starts the service in a child process. */
export async function startVictim(): Promise<Victim> {
  const teardowns: (() => void)[] = []
  const authority = { teardown: (end: () => void) => void teardowns.push(end) }
  const child = fork(new URL('victim.ts', import.meta.url), {
    execArgv: ['--expose-gc'],
    env: { ...process.env, ...authorityEnvironment(authority), FUZZ_ADMIN_KEY: ADMIN_KEY },
  })
  const says = await hear(child)
  if (!('url' in says)) throw new Error('the service did not say where it listens')
  const { url } = says
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as OpenApiDocument
  const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY })
  const judge = announcedBy(document)
  return {
    attack: async (count, seed, line = 'plain') => {
      const seeds = await seedsFor(document)
      const [requests, drafts] = [fuzzRequests(seeds), signedDrafts(seeds.listingIds)]
      const wrongs: string[] = []
      for (let sent = 0; sent < count && wrongs.length < MAX_WRONGS; sent += BATCH) {
        const numRuns = Math.min(BATCH, count - sent)
        const chosen = { numRuns, seed: seed + sent }
        const made = line === 'plain' ? fc.sample(requests, chosen) : fc.sample(drafts, chosen).map(signDraft)
        const batch = made.values()
        const work = async (): Promise<void> => {
          for (const signed of batch) {
            if (wrongs.length >= MAX_WRONGS) return
            const one = await signed
            const wrong = await ask(url, agent, one).then((answer) => wrongWith(one, answer, judge), String)
            if (wrong !== null) wrongs.push(`${wrong}\n  in answer to ${show(one)}`)
          }
        }
        await Promise.all(Array.from({ length: CONCURRENCY }, work))
        if (child.exitCode !== null) return [...wrongs, `the service ended with ${child.exitCode}`]
      }
      return wrongs
    },
    heldBytes: async () => {
      child.send('memory')
      const answer = await hear(child)
      return 'heldBytes' in answer ? answer.heldBytes : Number.NaN
    },
    isWell: async () => {
      const health = await fetch(`${url}/health`)
      const page = await fetch(`${url}/listings?status=&limit=200`)
      const { items, count } = (await page.json()) as { items: unknown[]; count: number }
      return health.ok && page.ok && items.length === count
    },
    end: () => {
      agent.destroy()
      child.kill()
      for (const end of teardowns) end()
    },
  }
}

async function hear(child: ChildProcess): Promise<VictimSays> {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the service ended with ${code}`)
  })
  ended.catch(() => {})
  const [message] = await Promise.race([once(child, 'message'), ended])
  return message as VictimSays
}

/** Signed now, so good for the next minutes. */
async function seedsFor(document: OpenApiDocument): Promise<Seeds> {
  const now = unixNow() + 200
  const signedBodies: string[] = []
  const signedQueries: string[] = []
  for (const seller of [ALICE, BOB]) {
    for (const [n, listing_id] of LISTING_IDS.entries()) {
      const at = now - n
      signedBodies.push(JSON.stringify(await publishBody(seller, { listing_id }, at)))
      const signature = await sign(seller, 'update_listing', listing_id, at)
      signedBodies.push(JSON.stringify({ signature, timestamp: at, status: 'closed' }))
      signedQueries.push(`signature=${await sign(seller, 'delete_listing', listing_id, at)}&timestamp=${at}`)
    }
  }
  return { document, listingIds: LISTING_IDS, signedBodies, signedQueries, adminKey: ADMIN_KEY }
}

type Answer = AnnouncedAnswer & { isSigned?: boolean }

/** `null` for raw bytes that the service answered by closing the connection. */
const ask = (url: string, agent: Agent, one: FuzzRequest): Promise<Answer | null> =>
  one.kind === 'raw' ? askRaw(url, one.bytes) : askHttp(url, agent, one)

const askHttp = (
  url: string,
  agent: Agent,
  { method, path, headers, body }: FuzzRequest & { kind: 'http' },
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const length = body === null ? {} : { 'Content-Length': String(body.length) }
    const outgoing = request({ agent, hostname, port, method, path, headers: { ...headers, ...length } })
    let answered = false
    outgoing.on('response', async (response) => {
      answered = true
      const chunks: Buffer[] = []
      try {
        for await (const chunk of response) chunks.push(chunk)
        const type = response.headers['content-type'] ?? ''
        const isSigned = response.headers['x-market-signature'] !== undefined
        const text = Buffer.concat(chunks).toString('utf8')
        resolve({ status: response.statusCode!, type, text, isSigned })
      } catch (cause) {
        reject(cause)
      }
    })
    // A refusal may come, and the connection go, before a large body has been sent whole.
    outgoing.on('error', (cause: NodeJS.ErrnoException) => {
      if (answered) return
      if (body !== null && body.length > 64 * 1024) resolve({ status: 413, type: '', text: '' })
      else reject(cause)
    })
    outgoing.end(body ?? undefined)
  })

async function askRaw(url: string, bytes: Buffer): Promise<AnnouncedAnswer | null> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {}) // a reset is an answer, too
  socket.end(bytes)
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  await once(socket, 'close')
  const answer = Buffer.concat(chunks).toString('latin1')
  const status = /^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]
  return status === undefined ? null : { status: Number(status), type: '', text: '' }
}

type Judge = ReturnType<typeof announcedBy>

/** The fault of an answer, or how it differs from the document; `null` for a correct one. */
function wrongWith(one: FuzzRequest, answer: Answer | null, judge: Judge): string | null {
  if (answer === null) return null
  const { status, type, text, isSigned } = answer
  if (one.mustFail && isSigned && status < 400) return `${status} for another request than the signed one`
  if (status >= 500 && status !== 508) return `${status}: ${text}`
  // A fault of a tool is inside an answer of 200.
  if (one.kind === 'http' && one.path === '/mcp' && /internal error of this server/.test(text)) return text
  if (one.kind === 'raw' || type === '' || one.mustFail !== undefined) return null
  if (status >= 400 && !type.startsWith('application/problem+json')) return `${status} came as ${type}`
  if (status === 405 || one.template === null || one.method === 'OPTIONS') return null
  if (one.method === 'HEAD') return null
  return judge(one.method, one.template, { ...answer, type })
}

const show = (one: FuzzRequest): string =>
  one.kind === 'raw'
    ? JSON.stringify(one.bytes.toString('latin1'))
    : `${one.method} ${one.path} ${JSON.stringify(one.headers)} ${one.body?.toString('utf8').slice(0, 500) ?? ''}`
