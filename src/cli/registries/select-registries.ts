import { redactCredentials } from '../../domain/safe-text.ts'
import { CliError, EXIT, usageError } from '../exit-codes.ts'
import { printStatus, type Terminal } from '../output/terminal.ts'
import { type BuyerConfig, readBuyerConfig } from './buyer-config.ts'

/** `url` is as the user wrote it, since keys are for exact URLs. */
export type Registry = { url: string; key: string | null }

export type RegistryOptions = {
  /** Each with one or more URLs between commas. Overrides the configuration. */
  registries?: readonly string[]
  config?: string
  /** Seconds. */
  discoveryTimeout?: number
}

export type JsonOptions = RegistryOptions & { json?: boolean }

export type Selection = { registries: readonly Registry[]; discoveryTimeoutMs: number }

const MAX_REGISTRIES = 100

/** Problems of the configuration are only reported. @throws CliError for an invalid URL */
export function selectRegistries(terminal: Terminal, options: RegistryOptions): Selection {
  const config = readBuyerConfig(terminal.env, options.config)
  for (const { path, message } of config.problems) printStatus(terminal, `[config] ${path}: ${message}`)
  const named = splitUrls(options.registries)
  const urls = named.length > 0 ? named : config.urls
  for (const url of urls) {
    const fault = urlFault(url)
    if (fault === null) continue
    if (named.length > 0) throw usageError(`${redactCredentials(url)} ${fault}`)
    throw new CliError(EXIT.badConfig, `[registry] urls: ${redactCredentials(url)} ${fault}`)
  }
  if (urls.length > MAX_REGISTRIES) throw usageError(`more than ${MAX_REGISTRIES} Registries`)
  for (const miss of nearMisses(urls, config.auth))
    printStatus(terminal, `[config] ${describeNearMiss(miss)}`)
  return {
    registries: withKeys(urls, config),
    discoveryTimeoutMs: (options.discoveryTimeout ?? 0) * 1000 || config.discoveryTimeoutMs,
  }
}

/** `-r a,b -r c` → three, without duplicates. */
export const splitUrls = (values: readonly string[] = []): string[] => [
  ...new Set(
    values
      .flatMap((value) => value.split(','))
      .map((url) => url.trim())
      .filter((url) => url !== ''),
  ),
]

const withKeys = (urls: readonly string[], { auth }: BuyerConfig): Registry[] =>
  urls.map((url) => ({ url, key: auth.get(url) ?? null }))

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
