/** `Retry-After` (RFC 9110 section 10.2.3) in ms, from 0; `null` where it is absent or malformed. */
export function parseRetryAfter(value: string | null | undefined, now: number): number | null {
  const text = value?.trim() ?? ''
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
  return Number.isNaN(ms) ? null : Math.max(ms, 0)
}
