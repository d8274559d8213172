/**
 * Equal where URLs lead to the same place: a parsed URL has its host in lower case and in punycode, and no default port. What is left is
 * a final dot of the host, which names the same one, and the escapes of RFC 3986 section 6.2.2. The path ends with a slash.
 */
export function placeOf(text: string): { origin: string; path: string } | null {
  const url = URL.parse(text)
  if (url === null) return null
  const { origin, pathname } = url
  const path = pathname.replaceAll(/%[0-9a-f]{2}/gi, (escaped) => {
    const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16))
    return /[\w.~-]/.test(character) ? character : escaped.toUpperCase()
  })
  return { origin: origin.replace(/\.(?=:\d+$|$)/, ''), path: path.endsWith('/') ? path : `${path}/` }
}

/** Equal where URLs differ in the spelling of scheme, host and port only: path and slash count to the character. */
export function urlKey(text: string): string {
  const url = URL.parse(text)
  const [authority] = /^[a-z][a-z\d+.-]*:\/\/[^/?#\\]*/i.exec(text) ?? []
  return url === null || authority === undefined ? text : url.origin + text.slice(authority.length)
}
