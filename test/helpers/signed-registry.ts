import { buffer } from 'node:stream/consumers'
import { listen } from './listen.ts'
import { startRegistry, type Teardown } from './registry.ts'
import { temporaryFile } from './run-cli.ts'
import { answerHeaders, type Envelope, ed25519Key, type Key, questionOf } from './signed-line.ts'
import { AUTHORITY, authorityEnvironment, readSigned, sendSigned } from './signed-reader.ts'

/** `[gateway.identity]` with a key of its own. */
export function identityToml(t: Teardown): string {
  const file = temporaryFile(t, 'gateway.key', Buffer.alloc(32, 7).toString('base64url'))
  return `[gateway.identity]\nscheme = "ed25519"\nkey_file = "${file}"\n`
}

/** `identities` that pin these keys. */
const pinned = (...identifiers: string[]): string =>
  `identities = [${identifiers.map((one) => `{ scheme = "ed25519", identifier = "${one}" }`).join()}]\n`

/** The settings of such an upstream. */
export const signedSettings = (...identifiers: string[]): string =>
  `protocol = "signed"\nauthority = "registry-a"\n${pinned(...identifiers)}`

/** `[registry.authorities."URL"]` of the buyer file, for this Registry. */
export const pinToml = (url: string, identifier = AUTHORITY.party.identifier): string =>
  `[registry.authorities."${url}"]\nauthority = "registry-a"\n${pinned(identifier)}`

/** A listing that is published with this key; what is not given has a value. */
export type SignedListing = { listing_id: string; seller: Key; [member: string]: unknown }

const DEFAULTS = {
  storefront_url: 'http://storefront.example/',
  offer_resource: { gpu_model: 'H200', region: 'Reykjavik, IS' },
  accepted_escrows: [],
  demands: [],
}

type Answer = { status: number; headers: Record<string, string>; text: string }

const FOREIGN = ed25519Key(Buffer.alloc(32, 2))

const signedBy = async (key: Key, answer: Answer, asked: Envelope): Promise<Answer> => ({
  ...answer,
  headers: { ...answer.headers, ...(await answerHeaders(key, asked, answer)) },
})

const unsigned = (status: number): Answer => ({ status, headers: {}, text: 'Internal Server Error' })

/** What arrives in place of a signed answer. */
const FAULTS = {
  'foreign key': (answer: Answer, asked: Envelope) => signedBy(FOREIGN, answer, asked),
  'other request': (answer: Answer, asked: Envelope) =>
    signedBy(AUTHORITY, answer, { ...asked, requestId: 'other' }),
  old: (answer: Answer, asked: Envelope) =>
    signedBy(AUTHORITY, answer, { ...asked, timestamp: String(Number(asked.timestamp) - 301) }),
  unsigned: ({ headers: { 'content-type': type = '' }, ...answer }: Answer) => ({
    ...answer,
    headers: { 'content-type': type },
  }),
  'changed body': ({ text, ...answer }: Answer) => ({ ...answer, text: text.replace('{', '{"added":1,') }),
  'changed status': ({ status, ...answer }: Answer) => ({ ...answer, status: status + 1 }),
  'unsigned 500': () => unsigned(500),
  'unsigned 429': () => unsigned(429),
}

export type Fault =
  | keyof typeof FAULTS
  /** Of one write: it is applied, and its answer does not arrive. */
  | 'lost answer'
  /** Of one write: an earlier attempt goes on. */
  | 'in progress'
  | null

/** Connections are of the relay, and a body comes decoded. */
const OWN_HEADERS = [
  'connection',
  'content-encoding',
  'content-length',
  'host',
  'keep-alive',
  'transfer-encoding',
]

const relayed = (headers: Iterable<readonly [string, unknown]>): Record<string, string> =>
  Object.fromEntries(
    [...headers].flatMap(([name, value]) => (OWN_HEADERS.includes(name) ? [] : [[name, String(value)]])),
  )

/**
 * A Registry that speaks the signed line only, behind a relay that spoils its answers. `state` may be changed while it runs; `rows` are
 * what it holds, newest first.
 */
export async function startSignedRegistry(t: Teardown, listings: readonly SignedListing[] = []) {
  const state = {
    fault: null as Fault,
    /** Pages with this listing are an unsigned 500. */
    poisoned: null as string | null,
    /** Method and target of each request. */
    seen: [] as string[],
    /** Who signed, as which role, of each request that was signed well. */
    callers: [] as Envelope[],
    skewSeconds: 0,
  }
  const now = (): number => Math.floor(Date.now() / 1000) + state.skewSeconds
  const { url: origin } = await startRegistry(t, {
    environment: authorityEnvironment(t),
    toml: '[access]\nplain = false\n',
    nowSeconds: now,
  })
  for (const { seller, ...listing } of listings.toReversed())
    await sendSigned(origin, 'POST', '/listings', { ...DEFAULTS, ...listing }, { key: seller })
  const rows = async () => (await readSigned(origin, '/listings?status=')).body.items
  const url = await listen(t, async (request, response) => {
    const { method = '', url: target = '/', headers } = request
    state.seen.push(`${method} ${target}`)
    const body = await buffer(request)
    const forwarded = { method, headers: relayed(Object.entries(headers)) }
    const reply = await fetch(`${origin}${target}`, { ...forwarded, ...(body.length > 0 && { body }) })
    const answer = { status: reply.status, headers: relayed(reply.headers), text: await reply.text() }
    const question = questionOf(method, new URL(target, url).pathname)
    const read = (name: string): string => String(headers[`x-market-${name}`])
    const isSigned = answer.headers['x-market-signature'] !== undefined
    const spoiled =
      !isSigned || question === null
        ? answer
        : await spoil(answer, question.isWrite, {
            ...question,
            method,
            role: read('role'),
            party: { scheme: read('identity-scheme'), identifier: read('identity-identifier') },
            requestId: read('request-id'),
            timestamp: String(answer.headers['x-market-timestamp']),
          })
    if (spoiled === null) return void response.destroy()
    const date = new Date(now() * 1000).toUTCString()
    response.writeHead(spoiled.status, { ...spoiled.headers, date }).end(spoiled.text)
  })
  return { url, state, rows, identifier: AUTHORITY.party.identifier, foreign: FOREIGN.party.identifier }

  async function spoil(answer: Answer, isWrite: boolean, asked: Envelope): Promise<Answer | null> {
    state.callers.push(asked)
    const { fault, poisoned } = state
    if (poisoned !== null && answer.text.includes(`"${poisoned}"`)) return unsigned(500)
    if (fault === null) return answer
    if (fault !== 'lost answer' && fault !== 'in progress') return FAULTS[fault](answer, asked)
    if (!isWrite) return answer
    state.fault = null
    if (fault === 'lost answer') return null
    return signedBy(AUTHORITY, { ...answer, status: 409, text: '{"detail":"request_in_progress"}' }, asked)
  }
}
