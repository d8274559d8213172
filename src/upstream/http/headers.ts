import { SourceError } from '../../domain/source-error.ts'
import type { UpstreamOptions } from '../../domain/upstream.ts'
import { ACCEPT_ENCODING } from './client.ts'

/** The headers of every request to an upstream; its bearer key goes to its own origin only. */
export function requestHeaders({ key }: Pick<UpstreamOptions, 'key'>): Record<string, string> {
  return {
    accept: 'application/json',
    'accept-encoding': ACCEPT_ENCODING,
    'user-agent': 'entrepot',
    ...(key === null ? {} : { authorization: `Bearer ${key}` }),
  }
}

/** The gateways that a question passed through: `CDN-Loop` (RFC 8586) and `Via` (RFC 9110 section 7.6.3). */
export function loopHeaders(via: readonly string[]): Record<string, string> {
  return via.length === 0 ? {} : { 'cdn-loop': via.join(', '), via: via.map((id) => `1.1 ${id}`).join(', ') }
}

/** Shorter keys are words that any answer may contain. */
const MIN_KEY_LENGTH = 16

/**
 * Refuses an answer that contains the key it was asked with, as a proxy that reflects headers sends it: listings are
 * passed on as they came, and every reader would learn the key.
 * @throws SourceError `bad_envelope`
 */
export function rejectKeyEcho(body: Buffer, key: string | null): void {
  if (key !== null && key.length >= MIN_KEY_LENGTH && body.includes(key))
    throw new SourceError('bad_envelope', 'the answer repeats the key that we sent')
}
