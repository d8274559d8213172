/** The first wait where a rate limit names none; doubled each time. */
export const LIMITED_MS = 1000

/**
 * `Retry-After` (RFC 9110 section 10.2.3) in ms, whole seconds or until a date; `null` where it is absent, malformed, 0 or past.
 * A fraction of a second, which some servers send, is rounded up.
 */
export function parseRetryAfter(value: string | null | undefined, now: number): number | null {
  const text = value?.trim() ?? ''
  const ms = /^[a-z]/i.test(text)
    ? Date.parse(text) - now
    : /^\d+(?:\.\d+)?$/.test(text)
      ? Math.ceil(Number(text)) * 1000
      : 0
  return ms > 0 ? ms : null
}
