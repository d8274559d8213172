import { safeText } from '../../domain/safe-text.ts'

const MAX_LINE_CHARS = 120

/** For untrusted text: cut, with invisible and direction-changing characters as visible escapes. */
export function untrustedText(text: string, maxChars = MAX_LINE_CHARS): string {
  const cut = text.length <= maxChars ? text : `${text.slice(0, maxChars)}…`
  return safeText(cut)
}

/** `0x036c…cf7e`; shorter text as it is. */
export function shortAddress(address: string): string {
  const text = untrustedText(address)
  return text.length <= SHORT_CHARS ? text : `${text.slice(0, 6)}…${text.slice(-4)}`
}

const SHORT_CHARS = 14

/** `null` for anything but an `http` or `https` URL without credentials. */
export function linkTarget(text: string): string | null {
  const url = URL.parse(text)
  const isWeb = url !== null && (url.protocol === 'https:' || url.protocol === 'http:')
  return isWeb && url.username === '' && url.password === '' ? url.href : null
}
