import type { Caching } from '../domain/query.ts'

/** The supported directives of `Cache-Control` (RFC 9111 section 5.2.1), or else of `Pragma`. */
export function requestCaching(
  cacheControl: string | undefined,
  pragma: string | undefined,
): Caching | undefined {
  const directives = (cacheControl ?? pragma ?? '').split(',').map((one) => one.trim().toLowerCase())
  if (directives.includes('no-cache')) return 'no-cache'
  return directives.includes('only-if-cached') ? 'only-if-cached' : undefined
}
