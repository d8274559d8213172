import { createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import proxyAddr from 'proxy-addr'
import type { Caller } from '../../domain/api-key.ts'
import type { Limiter, LimitKind, LimitState } from '../../domain/limiter.ts'
import type { Reader } from '../../domain/reader.ts'
import { rateLimited, rateLimitHeaders } from '../../registry/errors.ts'
import { type Principal, publisherOf } from '../../signing/principal.ts'
import type { Middleware } from '../request-state.ts'
import type { Gate } from '../route.ts'

/** Refuses requests over their limit, and adds the limit's headers to the answers of others. */
export function limitRate(rateLimit: RateLimit): Middleware {
  return ({ req, state }, next) => {
    const { limits } = state.reader
    const principal = state.signed?.request.principal
    const counted = rateLimit(req, state.route.gate, state.caller, { limits, principal })
    if (counted === null) return next()
    return counted.then((headers) => {
      state.headers = { ...state.headers, ...headers }
      return next()
    })
  }
}

/** Rate limit headers of the answer; `null` if nothing is counted. */
export type RateLimit = (
  request: IncomingMessage,
  gate: Gate,
  caller: Caller,
  about: { limits: Reader['limits']; principal?: Principal | undefined },
) => Promise<Record<string, string>> | null

/**
 * Counts by API key, else by client address; on the signed line by principal, where that has a limit: key and
 * address of its writes are counted before, by `createUnverifiedLimit`. Rejects with `rate_limited` (429) over the
 * limit.
 */
export const createRateLimit =
  (limiter: Limiter, clientAddress: (request: IncomingMessage) => string): RateLimit =>
  (request, gate, caller, { limits, principal }) => {
    if (gate !== 'read' && gate !== 'write') return null
    const count = (kind: LimitKind, subject: string | (() => string)) =>
      limiter(kind, subject, kind === 'read_key' ? limits.requestsPerMinute : null)?.then((state) => {
        if (state.exceeded) throw rateLimited(kind, state)
        return rateLimitHeaders(kind, state)
      }) ?? null
    const byPrincipal = principal && count(...limitOf(principal, gate))
    if (byPrincipal) return byPrincipal
    const kind = gate === 'write' ? 'publish' : caller.kind === 'key' ? 'read_key' : 'anonymous'
    return count(kind, () =>
      caller.kind === 'key' ? `key:${caller.key.id}` : `address:${clientAddress(request)}`,
    )
  }

/** A publisher has one limit for both lines. */
const limitOf = (principal: Principal, gate: Gate): [LimitKind, string] =>
  gate === 'write'
    ? ['publish', `publisher:${publisherOf(principal)}`]
    : ['principal', `principal:${publisherOf(principal)}`]

/**
 * Counts requests of the signed line before any signature is checked: by address, and writes by their API key, else by address.
 * Principals cost nothing, so that one address could have any number. Rejects with `rate_limited` (429); `null` without a limit.
 */
export const createUnverifiedLimit =
  (
    limiter: Limiter,
    clientAddress: (request: IncomingMessage) => string,
    writerOf: (authorization: string | undefined) => Caller,
  ) =>
  (request: IncomingMessage, gate: Gate): Promise<unknown> | null => {
    const address = () => `address:${clientAddress(request)}`
    const signed = limiter('signed_address', address)?.then(refuseAddress) ?? null
    if (gate !== 'write') return signed
    const writer = writerOf(request.headers.authorization)
    const subject = writer.kind === 'key' ? `key:${writer.key.id}` : address
    const written = limiter('publish', subject)?.then((state) => {
      if (state.exceeded) throw rateLimited('publish', state)
    })
    return Promise.all([signed, written])
  }

function refuseAddress(state: LimitState): void {
  if (!state.exceeded) return
  const { limit, resetSeconds } = state
  const detail =
    `More than ${limit} requests of the signed line from this address in a minute; try again in ${resetSeconds} s. ` +
    'This answer is not signed, since it is given before a signature is checked'
  throw rateLimited('signed_address', state, detail)
}

/**
 * The address that limits count by; IPv6 by its /64, the network of one customer. `X-Forwarded-For` is read
 * from its end, past `trustedProxies` (CIDRs), and ignored from other peers, which could forge it.
 */
export function createClientAddress(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  if (trustedProxies.length === 0) return ({ socket }) => countedAddress(unmapped(socket.remoteAddress ?? ''))
  const trust = proxyAddr.compile(trustedProxies.flatMap(halves))
  const trustsEntry = (entry: string, n: number) => trust(addressOf(entry), n)
  return (request) => {
    const addresses = proxyAddr.all(request, trustsEntry).map(addressOf)
    return countedAddress(addresses.findLast((address) => isIP(address) !== 0) ?? '')
  }
}

const HASH_CHARACTERS = 12

/** The same text for the same address, from which only those with the secret can find it. */
export const hashClient =
  (clientAddress: (request: IncomingMessage) => string, secret: string) =>
  (request: IncomingMessage): string =>
    createHmac('sha256', secret).update(clientAddress(request)).digest('hex').slice(0, HASH_CHARACTERS)

/** proxy-addr refuses the prefix 0. */
function halves(range: string): string[] {
  if (!range.endsWith('/0')) return [range]
  return range.includes(':') ? ['::/1', '8000::/1'] : ['0.0.0.0/1', '128.0.0.0/1']
}

/** Some proxies write `203.0.113.7:51107`, `[2001:db8::1]` or `[2001:db8::1]:51107`. */
const addressOf = (entry: string | undefined): string =>
  unmapped((entry ?? '').trim().replace(/^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2'))

/** Unmaps an IPv4-mapped IPv6 address. */
const unmapped = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '')

function countedAddress(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = address.toLowerCase().split('%')[0]!.split('::')
  const groups = head.split(':').filter(Boolean)
  const zeros = tail === undefined ? 0 : 8 - groups.length - tail.split(':').filter(Boolean).length
  const all = [...groups, ...Array<string>(zeros).fill('0'), ...(tail ?? '').split(':').filter(Boolean)]
  return `${all.slice(0, 4).join(':')}::/64`
}
