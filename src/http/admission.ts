import type { IncomingMessage } from 'node:http'
import type { Reader } from '../domain/api-key.ts'
import type { Limiter, LimitState } from '../domain/limiter.ts'
import { rateLimited } from '../registry/refusals.ts'
import type { Gate } from './exchange.ts'

/** Rate limit headers of the answer; `null` if nothing is counted. */
export type Admission = (
  request: IncomingMessage,
  gate: Gate,
  reader: Reader,
) => Promise<Record<string, string>> | null

/** Counts by API key, else by client address. Rejects with `rate_limited` (429) over the limit. */
export const createAdmission =
  (limiter: Limiter, clientAddress: (request: IncomingMessage) => string): Admission =>
  (request, gate, reader) => {
    if (gate !== 'read' && gate !== 'write') return null
    const kind = gate === 'write' ? 'publish' : reader.kind === 'key' ? 'read_key' : 'anonymous'
    const who = () => (reader.kind === 'key' ? `key:${reader.key.id}` : `address:${clientAddress(request)}`)
    return limiter(kind, who)?.then((state) => admit(kind, state)) ?? null
  }

/** `draft-ietf-httpapi-ratelimit-headers`: policy, remaining requests, seconds until the reset. */
function admit(policy: string, state: LimitState): Record<string, string> {
  const headers = {
    'RateLimit-Policy': `"${policy}";q=${state.limit};w=60`,
    RateLimit: `"${policy}";r=${state.remaining};t=${state.resetSeconds}`,
  }
  if (!state.exceeded) return headers
  throw rateLimited(state, headers)
}
