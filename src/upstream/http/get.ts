import type { Dispatcher } from 'undici'
import { type Directives, NO_DIRECTIVES } from '../../domain/source/freshness.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'
import { ACCEPT_ENCODING, type HttpResponse, type LinesOptions, send } from './client.ts'
import { statusError } from './errors.ts'

type GetOptions = {
  maxBytes: number
  headers?: Readonly<Record<string, string>>
  /** Besides 200; default none. */
  expected?: readonly number[] | 'any'
  lines?: LinesOptions
}

/** Rejects with a `SourceError`. */
export type Get = (path: string, options: GetOptions) => Promise<HttpResponse>

export function createGet(upstream: UpstreamOptions, agent: Dispatcher, via: readonly string[] = []): Get {
  const { name, timeoutMs, key } = upstream
  const { origin, pathname } = new URL(upstream.url)
  const base = pathname.replace(/\/+$/, '')
  const common = {
    accept: 'application/json',
    'accept-encoding': ACCEPT_ENCODING,
    'user-agent': 'entrepot',
    ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    ...loopHeaders(via),
  }
  return async (path, { maxBytes, headers, expected = [], lines }) => {
    const request = { origin, path: base + path, headers: { ...common, ...headers }, maxBytes, timeoutMs }
    const response = await send(agent, request, name, lines)
    rejectKeyEcho(response.body, key)
    if (response.status === 200 || expected === 'any' || expected.includes(response.status)) return response
    throw statusError(`${name}: ${path}`, response)
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

type Headers = Readonly<Record<string, string | string[] | undefined>>

/**
 * RFC 9111 5.2.2, 5.1. Answers are never revalidated, so `no-cache` means `no-store`.
 * @param isOwn whether the answer is stored for one credential only, which `private` allows
 */
export function cacheDirectives(headers: Headers, isOwn: boolean): Directives {
  if (headers['cache-control'] === undefined && headers.age === undefined) return NO_DIRECTIVES
  const directives = parseCacheControl(headers['cache-control'])
  const has = (name: string): boolean => directives.has(name)
  const seconds = (name: string): number | null => (has(name) ? parseSeconds(directives.get(name)) : null)
  return {
    mayStore: !has('no-store') && !has('no-cache') && (isOwn || !has('private')),
    maxAgeSeconds: seconds('s-maxage') ?? seconds('max-age'),
    // RFC 9111 5.2.2.10: `s-maxage` implies `proxy-revalidate`.
    mayServeStale: !has('must-revalidate') && !has('proxy-revalidate') && !has('s-maxage'),
    ageSeconds: parseSeconds(headers.age?.toString() ?? '0'),
  }
}

/** Directive → argument without quotes, or `''`. */
function parseCacheControl(value: string | string[] | undefined): ReadonlyMap<string, string> {
  const directives = String(value ?? '').matchAll(DIRECTIVE)
  return new Map(
    directives.map(([, name = '', quoted, token]) => [name.toLowerCase(), quoted ?? token ?? '']),
  )
}

const DIRECTIVE = /([!#$%&'*+.^_`|~\w-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*)))?/g

/** A malformed number counts as 0 (RFC 9111 4.2.1). */
function parseSeconds(text = ''): number {
  return /^\d+$/.test(text) ? Math.min(Number(text), MAX_SECONDS) : 0
}

const MAX_SECONDS = 2 ** 31
