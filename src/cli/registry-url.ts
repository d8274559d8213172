/** `null` for a valid base URL. */
export function urlFault(text: string): string | null {
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return 'is no http or https URL'
  if (url.username || url.password) return 'holds credentials; put the key under [registry.auth] instead'
  if (url.search || url.hash) return 'must have no query and no fragment'
  return null
}

type NearMiss = { keyUrl: string; registryUrl: string }

/** Keys that are not sent since their URL differs in case of the host, default port or trailing slash. */
export const nearMisses = (registryUrls: readonly string[], auth: ReadonlyMap<string, string>): NearMiss[] =>
  [...auth.keys()].flatMap((keyUrl) =>
    registryUrls
      .filter((url) => !auth.has(url) && normalise(url) === normalise(keyUrl))
      .map((registryUrl) => ({ keyUrl, registryUrl })),
  )

export const describeNearMiss = ({ keyUrl, registryUrl }: NearMiss): string =>
  `the key for ${keyUrl} is not sent to ${registryUrl}: the two URLs must be equal to the character; ` +
  `write [registry.auth] "${registryUrl}" = …`

/** The URL parser lower-cases scheme and host, and drops a default port. */
function normalise(text: string): string {
  const url = URL.parse(text)
  return url === null ? text : `${url.origin}${url.pathname.replace(/\/+$/, '')}${url.search}`
}
