import { randomBytes } from 'node:crypto'
import type { TokenTable } from '../../domain/price/token.ts'
import { redactCredentials } from '../../domain/safe-text.ts'
import type { Pin } from '../../domain/source/upstream.ts'
import { placeOf, urlKey } from '../../domain/url.ts'
import { ConfigError } from '../../errors.ts'
import type { Identity } from '../../signing/exchange.ts'
import { KEY_BYTES } from '../../signing/principal.ts'
import { readSecret, type Secret } from '../../signing/secret.ts'
import { CliError, EXIT, usageError } from '../exit-codes.ts'
import { printWarning, type Terminal } from '../output/terminal.ts'
import { readKeyFile } from '../signing/passphrase.ts'
import { signerOf } from '../signing/wallet.ts'
import { type BuyerConfig, readBuyerConfig, withoutSlash } from './buyer-config.ts'

/** `url` is as the user wrote it. `signed`: it speaks the signed line. */
export type Registry = {
  url: string
  key: string | null
  /** The file that has the key, or should have it. */
  keyFile?: string
  signed?: Signed | undefined
}

/** Who answers, and who asks. */
type Signed = { pin: Pin; identity: () => Promise<Identity> }

export type RegistryOptions = {
  /** Each with one or more URLs between commas. Overrides the configuration. */
  registries?: readonly string[]
  config?: string
  /** Seconds. */
  discoveryTimeout?: number
  /** File of the key that signs requests to Registries of the signed line. */
  identity?: string
}

export type JsonOptions = RegistryOptions & { json?: boolean }

const MAX_REGISTRIES = 100
/** For reads, where neither an option nor a file names a Registry. */
const DEFAULT_URL = 'http://localhost:8080'

export type SelectedRegistries = {
  registries: readonly Registry[]
  discoveryTimeoutMs: number
  tokens: TokenTable
}

/**
 * For a write, every Registry has to be named, and a warning of the configuration is an error.
 * @throws ConfigError, or CliError for an invalid URL
 */
export function selectRegistries(
  terminal: Terminal,
  options: RegistryOptions,
  purpose: 'read' | 'write' = 'read',
): SelectedRegistries {
  const { config, urls, origin, discoveryTimeoutMs } = readSelection(terminal, options)
  const doubts = purpose === 'write' ? [] : config.warnings
  const problems = purpose === 'write' ? [...config.problems, ...config.warnings] : config.problems
  const isFatal = purpose === 'write' || options.config !== undefined || origin !== 'option'
  if (isFatal && problems.length > 0) throw new ConfigError(problems)
  for (const { path, message } of [...problems, ...doubts]) printWarning(terminal, `${path}: ${message}`)
  if (origin === 'default' && purpose === 'write')
    throw new CliError(EXIT.badConfig, `no Registry is named to write to: ${HOW_TO_NAME}`)
  if (origin === 'default')
    printWarning(terminal, `no Registry is named: ${DEFAULT_URL} is read; ${HOW_TO_NAME}`)
  for (const url of urls) {
    const problem = urlProblem(url)
    if (problem === null) continue
    const message = `${redactCredentials(url)} ${problem}`
    throw origin === 'file'
      ? new CliError(EXIT.badConfig, `[registry] urls: ${message}`)
      : usageError(message)
  }
  if (urls.length > MAX_REGISTRIES)
    throw usageError(
      `${urls.length} Registries are named, and at most ${MAX_REGISTRIES} are allowed: leave some out`,
    )
  for (const miss of nearMisses(urls, config.auth)) printWarning(terminal, describeNearMiss(miss, config))
  return { registries: registriesOf({ config, urls }, options), discoveryTimeoutMs, tokens: config.tokens }
}

/** Each with its key, and its pin. @throws CliError for a pin of a URL that nothing names, as in the deployed command line */
export function registriesOf(
  {
    config: { auth, authorities, urls: configured, keyFileOf },
    urls,
  }: Pick<RegistryChoice, 'config' | 'urls'>,
  options: RegistryOptions,
): Registry[] {
  const named = new Set([...urls, ...configured].map(pinKey))
  const unnamed = [...authorities.keys()].find((url) => !named.has(pinKey(url)))
  if (unnamed !== undefined)
    throw new CliError(
      EXIT.badConfig,
      `[registry.authorities] ${redactCredentials(unnamed)}: no Registry of urls has this URL; add it there, or remove its authority`,
    )
  const { identity: file } = options
  const secret = readIdentity(file)
  let asBuyer: Promise<Identity> | null = null
  const identity = () => {
    asBuyer ??= signerOf(secret, file ?? '').then((signer) => ({ signer, role: 'buyer' }))
    return asBuyer
  }
  const [keys, pins] = [byKey(auth, urlKey), byKey(authorities, pinKey)]
  return urls.map((url) => {
    const pin = pins.get(pinKey(url))
    if (pin === undefined) refusePinned(url, authorities)
    const key = keys.get(urlKey(url)) ?? null
    return { url, key, keyFile: keyFileOf(url), ...(pin && { signed: { pin, identity } }) }
  })
}

/** A slash at the end of a pinned URL does not count, as in the public buyer. */
const pinKey = (url: string): string => urlKey(withoutSlash(url))

const byKey = <Value>(values: ReadonlyMap<string, Value>, keyOf: (url: string) => string) =>
  new Map([...values].map(([url, value]) => [keyOf(url), value]))

/** Its answers would be taken from any key. @throws CliError for another spelling of a pinned URL */
function refusePinned(url: string, authorities: BuyerConfig['authorities']): void {
  const pinned = [...authorities.keys()].find((one) => isSamePlace(one, url))
  if (pinned !== undefined)
    throw new CliError(
      EXIT.badConfig,
      `${redactCredentials(url)} is another spelling of ${redactCredentials(pinned)}, which [registry.authorities] pins: write it as there`,
    )
}

/** The key of the file, or one for this command: reads need some key, and no certain one. @throws CliError */
function readIdentity(file: string | undefined): Secret | null {
  if (file === undefined) return { scheme: 'ed25519', key: randomBytes(KEY_BYTES) }
  return readSecret(readKeyFile(file, 'key file', () => true))
}

const HOW_TO_NAME = 'use -r URL, or [registry] urls = ["URL"] in buyer.toml'

export type RegistryChoice = {
  config: BuyerConfig
  urls: readonly string[]
  /** Of `urls`. */
  origin: 'option' | 'file' | 'default'
  discoveryTimeoutMs: number
}

/** Options override the configuration. Nothing is checked. */
export function readSelection({ env }: Terminal, options: RegistryOptions): RegistryChoice {
  const config = readBuyerConfig(env, options.config)
  const discoveryTimeoutMs = (options.discoveryTimeout ?? 0) * 1000 || config.discoveryTimeoutMs
  const named = splitList(options.registries)
  if (named.length > 0) return { config, urls: named, origin: 'option', discoveryTimeoutMs }
  if (config.urls.length > 0) return { config, urls: config.urls, origin: 'file', discoveryTimeoutMs }
  return { config, urls: [DEFAULT_URL], origin: 'default', discoveryTimeoutMs }
}

/** `a,b` and `c` → three, without duplicates. */
export const splitList = (values: readonly string[] = []): string[] => [
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
  if (/[?#]/.test(text)) return 'must have no query and no fragment'
  return null
}

type NearMiss = { keyUrl: string; registryUrl: string }

/** Keys that are not sent since their URL differs in a slash at its end, or in escapes. */
export function nearMisses(registryUrls: readonly string[], auth: ReadonlyMap<string, string>): NearMiss[] {
  const keys = byKey(auth, urlKey)
  return [...auth.keys()].flatMap((keyUrl) =>
    registryUrls
      .filter((url) => urlProblem(url) === null && !keys.has(urlKey(url)) && isSamePlace(url, keyUrl))
      .map((registryUrl) => ({ keyUrl, registryUrl })),
  )
}

export const describeNearMiss = (
  { keyUrl, registryUrl: url }: NearMiss,
  { keyFileOf }: Pick<BuyerConfig, 'keyFileOf'>,
): string =>
  `the key for ${redactCredentials(keyUrl)} is not sent to ${url}: the paths of the two URLs must be identical; ` +
  keyHint({ url, key: null, keyFile: keyFileOf(url) })

/** What to do where a Registry refuses a key, or the lack of one. */
export function keyHint({ url, key, keyFile = 'buyer.secrets.toml' }: Registry): string {
  if (key !== null) return `check its key under [registry.auth] in ${keyFile}`
  return `write [registry.auth] "${url}" = "KEY" in ${keyFile}`
}

/** What to do at a Registry of the signed line that is not pinned. */
export const pinHint = ({ url }: Pick<Registry, 'url'>): string =>
  `ask its operator for its authority and key, and write [registry.authorities."${withoutSlash(url)}"] authority = "NAME", identities = [{ scheme = "SCHEME", identifier = "KEY" }] in buyer.toml`

function isSamePlace(text: string, other: string): boolean {
  const [one, two] = [placeOf(text), placeOf(other)]
  return one !== null && one.origin === two?.origin && one.path === two.path
}
