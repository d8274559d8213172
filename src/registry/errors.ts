import type { z } from 'zod'
import type { LimitState } from '../domain/limiter.ts'
import { MAX_LISTING_BYTES } from '../domain/listing.ts'
import { EntrepotError, type LimitName, type Violation } from '../errors.ts'

export const notFound = (): EntrepotError => new EntrepotError('not_found', 'Listing not found')

export const notOwner = (): EntrepotError =>
  new EntrepotError('forbidden', 'Listing is owned by another publisher')

/** In the words of the signed line: on the plain one no identity is replaced. */
export const retiredPrincipal = (): EntrepotError =>
  new EntrepotError('forbidden', 'Publisher principal is retired or disabled')

/** The signed line's answer to a change of another's listing. */
export const notOwnedByPrincipal = (): EntrepotError =>
  new EntrepotError('forbidden', 'Publisher principal does not own listing')

/** The deployed protocol's answer to a change that the owner has not signed. */
export const invalidSignature = (): EntrepotError => new EntrepotError('unauthorized', 'Invalid signature')

export const signatureReused = (): EntrepotError =>
  new EntrepotError(
    'signature_reused',
    'This signature was used before, with another request, for a listing that has changed since, with another API key, ' +
      'or more than 5 s ago for other listings; sign again with a newer timestamp',
  )

/** 403 covers more than credentials (RFC 9110 section 15.5.4), 429 limits in time (RFC 6585 section 4). */
export const tooManyListings = (maxListings: number): EntrepotError =>
  new EntrepotError(
    'quota_exceeded',
    `A publisher may have at most ${maxListings} listings here (listings_per_publisher), closed ones included; ` +
      'delete one to publish another',
    { limit: 'listings_per_publisher' },
  )

export const listingTooLarge = (): EntrepotError => {
  const message = `The listing would be larger than ${MAX_LISTING_BYTES} bytes as it is served`
  return invalid([{ path: 'body', message }], { limit: 'listing_bytes' })
}

const MAX_LISTED = 5

export function invalid(
  violations: readonly Violation[],
  { prefix = '', ...extras }: { prefix?: string; limit?: LimitName; logged?: string } = {},
): EntrepotError {
  const listed = violations.slice(0, MAX_LISTED).map(({ path, message }) => `${path}: ${message}`)
  const rest = violations.length - listed.length
  const detail = `${prefix}${listed.join('; ')}${rest > 0 ? `; and ${rest} more` : ''}`
  return new EntrepotError('invalid', detail, { errors: violations, ...extras })
}

/** An answer describes at most so many, and counts the rest. */
export const MAX_VIOLATIONS = 1000

export function invalidBody({ issues }: z.ZodError): EntrepotError {
  const listed = issues.slice(0, MAX_VIOLATIONS).map(({ path, message }) => ({
    path: ['body', ...path].map(String).join('.'),
    message,
  }))
  const rest = issues.length - listed.length
  return invalid(rest === 0 ? listed : [...listed, { path: 'body', message: `and ${rest} more violations` }])
}

/** `draft-ietf-httpapi-ratelimit-headers`: policy, remaining requests, seconds until the reset. */
export const rateLimitHeaders = (
  policy: LimitName,
  { limit, remaining, resetSeconds }: LimitState,
): Record<string, string> => ({
  'RateLimit-Policy': `"${policy}";q=${limit};w=60`,
  RateLimit: `"${policy}";r=${remaining};t=${resetSeconds}`,
})

export const rateLimited = (
  limit: LimitName,
  state: LimitState,
  detail = `More than ${state.limit} requests in a minute; try again in ${state.resetSeconds} s`,
): EntrepotError =>
  new EntrepotError('rate_limited', detail, {
    headers: { ...rateLimitHeaders(limit, state), 'Retry-After': String(state.resetSeconds) },
    limit,
  })
