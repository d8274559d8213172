import type { Caching } from '../domain/query.ts'

/**
 * What a request says about answers that are kept (RFC 9111 section 5.2.1): of its `Cache-Control` the two directives
 * that are heeded, and `Pragma: no-cache` where there is none.
 */
export const requestCaching = (
  cacheControl: string | undefined,
  pragma: string | undefined,
): Caching | undefined => {
  const directives = (cacheControl ?? pragma ?? '').split(',').map((one) => one.trim().toLowerCase())
  if (directives.includes('no-cache')) return 'no-cache'
  return directives.includes('only-if-cached') ? 'only-if-cached' : undefined
}
