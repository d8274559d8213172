import { safeText } from '../../domain/safe-text.ts'

/** Longest text of a stranger that stands in a line. */
export const MAX_LINE_CHARS = 120

/**
 * Text that a stranger wrote, to be shown: no longer than is useful, and characters that are invisible or turn the
 * direction of what follows shown as their escapes.
 */
export const strangerText = (text: string, most = MAX_LINE_CHARS): string => {
  const cut = text.length <= most ? text : `${text.slice(0, most)}…`
  return safeText(cut)
}

/** `0x036c…cf7e`; anything shorter as it is. */
export const shortAddress = (address: string): string => {
  const text = strangerText(address)
  return text.length <= SHORT_CHARS ? text : `${text.slice(0, 6)}…${text.slice(-4)}`
}

const SHORT_CHARS = 14

/** The address to link to; `null` for whatever is no `http` or `https` URL. */
export const linkTarget = (text: string): string | null => {
  const url = URL.parse(text)
  const isWeb = url !== null && (url.protocol === 'https:' || url.protocol === 'http:')
  return isWeb && url.username === '' && url.password === '' ? url.href : null
}
