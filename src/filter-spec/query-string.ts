/**
 * The names and values of a raw query string (what follows `?`), in order, as the deployed protocol decodes it:
 * `application/x-www-form-urlencoded`, `&` the only separator, bare names with an empty value, U+FFFD for bytes that
 * are not UTF-8. Never throws.
 */
export const decodeQuery = (queryString: string): [name: string, value: string][] => [
  // The added `&` keeps a leading `?`, which URLSearchParams would drop although it belongs to the first name.
  ...new URLSearchParams(`&${queryString}`),
]
