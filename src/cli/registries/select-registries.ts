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

const MAX_REGISTRIES = 100

/** Problems of the configuration are only printed. @throws CliError for an invalid URL */
export function selectRegistries(
  terminal: Terminal,
  options: RegistryOptions,
): { registries: readonly Registry[]; discoveryTimeoutMs: number } {
  const { config, urls, areConfigured, discoveryTimeoutMs } = readSelection(terminal, options)
  for (const { path, message } of config.problems) printStatus(terminal, `[config] ${path}: ${message}`)
  for (const url of urls) {
    const problem = urlProblem(url)
    if (problem === null) continue
    const message = `${redactCredentials(url)} ${problem}`
    throw areConfigured ? new CliError(EXIT.badConfig, `[registry] urls: ${message}`) : usageError(message)
  }
  if (urls.length > MAX_REGISTRIES) throw usageError(`more than ${MAX_REGISTRIES} Registries`)
  for (const miss of nearMisses(urls, config.auth))
    printStatus(terminal, `[config] ${describeNearMiss(miss)}`)
  return {
    registries: urls.map((url) => ({ url, key: config.auth.get(url) ?? null })),
    discoveryTimeoutMs,
  }
}

/** Options override the configuration. Nothing is checked. */
export function readSelection(
  { env }: Terminal,
  options: RegistryOptions,
): { config: BuyerConfig; urls: readonly string[]; areConfigured: boolean; discoveryTimeoutMs: number } {
  const config = readBuyerConfig(env, options.config)
  const named = splitUrls(options.registries)
  const areConfigured = named.length === 0
  return {
    config,
    urls: areConfigured ? config.urls : named,
    areConfigured,
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

/** `null` for a valid base URL. */
export function urlProblem(text: string): string | null {
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return 'is not an http or https URL'
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
  `the key for ${keyUrl} is not sent to ${registryUrl}: the two URLs must be identical; ` +
  `write [registry.auth] "${registryUrl}" = …`

/** The URL parser lower-cases scheme and host, and drops a default port. */
function normalise(text: string): string {
  const url = URL.parse(text)
  return url === null ? text : `${url.origin}${url.pathname.replace(/\/+$/, '')}${url.search}`
}
