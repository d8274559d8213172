import type { Directives } from '../domain/freshness.ts'

type Headers = Readonly<Record<string, string | string[] | undefined>>

/**
 * What `Cache-Control` and `Age` say to a cache that many readers share (RFC 9111 5.2.2, 5.1). Answers are never
 * revalidated here, only fetched anew, so `no-cache` means the same as `no-store`.
 */
export const cacheDirectives = (headers: Headers): Directives => {
  const directives = parseCacheControl(headers['cache-control'])
  const has = (name: string): boolean => directives.has(name)
  const seconds = (name: string): number | null => (has(name) ? parseSeconds(directives.get(name)) : null)
  return {
    mayStore: !has('no-store') && !has('private') && !has('no-cache'),
    maxAgeSeconds: seconds('s-maxage') ?? seconds('max-age'),
    // RFC 9111 5.2.2.10: `s-maxage` holds `proxy-revalidate`.
    mayServeStale: !has('must-revalidate') && !has('proxy-revalidate') && !has('s-maxage'),
    ageSeconds: parseSeconds(headers.age?.toString() ?? '0'),
  }
}

/** Directive → argument without its quotes, `''` where it has none. Of a repeated one the last counts. */
const parseCacheControl = (value: string | string[] | undefined): ReadonlyMap<string, string> => {
  const lines = value === undefined ? [] : [value].flat()
  return new Map(
    lines
      .flatMap((line) => [...line.matchAll(DIRECTIVE)])
      .map(([, name = '', quoted, token]) => [name.toLowerCase(), quoted ?? token ?? '']),
  )
}

const DIRECTIVE = /([!#$%&'*+.^_`|~\w-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*)))?/g

/** What is no number of seconds counts as none left (RFC 9111 4.2.1), a longer one as the longest. */
const parseSeconds = (text = ''): number => (/^\d+$/.test(text) ? Math.min(Number(text), MAX_SECONDS) : 0)

const MAX_SECONDS = 2 ** 31
