import { type Directives, NO_DIRECTIVES } from '../../domain/source/freshness.ts'

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
