import { safeText } from '../safe-text.ts'
import type { SourceReason } from './reasons.ts'
import type { SourceError } from './source-error.ts'
import type { UpstreamOptions } from './upstream.ts'

/** `at`: ms since the Unix epoch. `detail`: the cause in words, for the operator only. */
export type Failure = { reason: SourceReason; at: number; detail: string }

const MAX_DETAIL = 300
/** Shorter keys may occur in any text. */
const MIN_KEY_LENGTH = 8

/** The cause in words, without the key, which an upstream may repeat, and without the name that messages begin with. */
export function detailOf(
  { message }: Pick<SourceError, 'message'>,
  { name, key }: Pick<UpstreamOptions, 'name' | 'key'>,
): string {
  const text = message.startsWith(`${name}: `) ? message.slice(`${name}: `.length) : message
  return safeText(withoutKey(text, key).trim()).slice(0, MAX_DETAIL)
}

/** In any case of letters: host names are in lower case. */
function withoutKey(text: string, key: string | null): string {
  if (key === null || key.length < MIN_KEY_LENGTH) return text
  const at = text.toLowerCase().indexOf(key.toLowerCase())
  return at === -1 ? text : `${text.slice(0, at)}…`
}

export function failureOf(
  error: Pick<SourceError, 'reason' | 'message'>,
  upstream: Pick<UpstreamOptions, 'name' | 'key'>,
  at: number,
): Failure {
  return { reason: error.reason, at, detail: detailOf(error, upstream) }
}
