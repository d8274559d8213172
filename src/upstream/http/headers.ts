import { SourceError } from '../../domain/source-error.ts'
import type { UpstreamOptions } from '../../domain/upstream.ts'
import { ACCEPT_ENCODING } from './client.ts'

/** May hold the upstream's key: only for its own origin. */
export function requestHeaders({ key }: Pick<UpstreamOptions, 'key'>): Record<string, string> {
  return {
    accept: 'application/json',
    'accept-encoding': ACCEPT_ENCODING,
    'user-agent': 'entrepot',
    ...(key === null ? {} : { authorization: `Bearer ${key}` }),
  }
}

/** `CDN-Loop` (RFC 8586) and `Via` (RFC 9110 section 7.6.3). */
export function loopHeaders(via: readonly string[]): Record<string, string> {
  return via.length === 0 ? {} : { 'cdn-loop': via.join(', '), via: via.map((id) => `1.1 ${id}`).join(', ') }
}

/** Shorter keys may occur in any answer. */
const MIN_KEY_LENGTH = 16

/**
 * Listings are served as received: a proxy that reflects headers would show our key to every reader.
 * @throws SourceError `bad_envelope`
 */
export function rejectKeyEcho(body: Buffer, key: string | null): void {
  if (key !== null && key.length >= MIN_KEY_LENGTH && body.includes(key))
    throw new SourceError('bad_envelope', 'the answer repeats the key that we sent')
}
