import type { BuyerConfig } from './buyer-config.ts'
import { readBuyerConfig } from './buyer-config.ts'
import { CliError, EXIT, usageError } from './exit.ts'
import { describeNearMiss, nearMisses, urlFault } from './registry-url.ts'
import { type Terminal, tell } from './terminal.ts'

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

export const MAX_REGISTRIES = 100

/** Problems of the configuration are only reported. @throws CliError for an invalid URL */
export function selectRegistries(terminal: Terminal, options: RegistryOptions): Selection {
  const config = readBuyerConfig(terminal.env, options.config)
  for (const { path, message } of config.problems) tell(terminal, `[config] ${path}: ${message}`)
  const named = splitUrls(options.registries)
  const urls = named.length > 0 ? named : config.urls
  for (const url of urls) {
    const fault = urlFault(url)
    if (fault === null) continue
    if (named.length > 0) throw usageError(`${withoutCredentials(url)} ${fault}`)
    throw new CliError(EXIT.badConfig, `[registry] urls: ${withoutCredentials(url)} ${fault}`)
  }
  if (urls.length > MAX_REGISTRIES) throw usageError(`more than ${MAX_REGISTRIES} Registries`)
  for (const miss of nearMisses(urls, config.auth)) tell(terminal, `[config] ${describeNearMiss(miss)}`)
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

export const withoutCredentials = (url: string): string => url.replace(/\/\/[^/@]*@/, '//…@')

const withKeys = (urls: readonly string[], { auth }: BuyerConfig): Registry[] =>
  urls.map((url) => ({ url, key: auth.get(url) ?? null }))
