/** A longer wait is not believed. */
export const MAX_RETRY_AFTER_MS = 15 * 60_000

/** How long an answer asks us to stay away (RFC 9110 10.2.3), in ms; `null` where it does not say. */
export const retryAfterMs = (value: string | undefined, now: number): number | null => {
  if (value === undefined) return null
  const text = value.trim()
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS)
}
