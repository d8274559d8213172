import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import type { Reader } from '../../domain/api-key.ts'
import type { Limiter, LimitState } from '../../domain/limiter.ts'
import { rateLimited } from '../../registry/errors.ts'
import type { Gate } from '../route.ts'

/** Rate limit headers of the answer; `null` if nothing is counted. */
export type RateLimit = (
  request: IncomingMessage,
  gate: Gate,
  reader: Reader,
) => Promise<Record<string, string>> | null

/** Counts by API key, else by client address. Rejects with `rate_limited` (429) over the limit. */
export const createRateLimit =
  (limiter: Limiter, clientAddress: (request: IncomingMessage) => string): RateLimit =>
  (request, gate, reader) => {
    if (gate !== 'read' && gate !== 'write') return null
    const kind = gate === 'write' ? 'publish' : reader.kind === 'key' ? 'read_key' : 'anonymous'
    const who = () => (reader.kind === 'key' ? `key:${reader.key.id}` : `address:${clientAddress(request)}`)
    return limiter(kind, who)?.then((state) => rateLimitHeaders(kind, state)) ?? null
  }

/** `draft-ietf-httpapi-ratelimit-headers`: policy, remaining requests, seconds until the reset. */
function rateLimitHeaders(policy: string, state: LimitState): Record<string, string> {
  const headers = {
    'RateLimit-Policy': `"${policy}";q=${state.limit};w=60`,
    RateLimit: `"${policy}";r=${state.remaining};t=${state.resetSeconds}`,
  }
  if (!state.exceeded) return headers
  throw rateLimited(state, headers)
}

/**
 * The address that limits count by; IPv6 by its /64, which one customer has whole. `X-Forwarded-For` is read
 * from its end, past `trustedProxies` (CIDRs), and ignored from other peers, which could forge it.
 */
export function createClientAddress(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  const trusted = new BlockList()
  for (const cidr of trustedProxies) {
    const [network, bits] = cidr.split('/') as [string, string]
    trusted.addSubnet(network, Number(bits), family(network))
  }
  const isTrusted = (address: string): boolean =>
    isIP(address) !== 0 && trusted.check(address, family(address))

  return ({ socket, headersDistinct }) => {
    let address = unmapped(socket.remoteAddress ?? '')
    if (trustedProxies.length === 0 || !isTrusted(address)) return countedAddress(address)
    const hops = (headersDistinct['x-forwarded-for'] ?? [])
      .join(',')
      .split(',')
      .map((hop) => unmapped(hop.trim()))
    while (isTrusted(address) && hops.length > 0) {
      const previous = hops.pop()!
      if (isIP(previous) === 0) break
      address = previous
    }
    return countedAddress(address)
  }
}

const family = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

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
