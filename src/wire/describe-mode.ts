import type { SourceStatusJson } from './source.ts'

type LiveReason = NonNullable<SourceStatusJson['live_reason']>

type Described = { mode: string; live_reason?: string | undefined }

/** How a source is read now, and why: `in memory`, `live: not loaded yet`. */
export function describeMode({ mode, live_reason: reason }: Described): string {
  if (mode === 'snapshot') return 'in memory'
  return reason === undefined ? mode : `${mode}: ${isReason(reason) ? WORDS[reason] : reason}`
}

function isReason(reason: string): reason is LiveReason {
  return Object.hasOwn(WORDS, reason)
}

const WORDS: Readonly<Record<LiveReason, string>> = {
  mode: 'its mode',
  not_yet_loaded: 'not loaded yet',
  too_many_listings: 'more than max_listings',
  too_large: 'too large for cache.max_bytes',
}
