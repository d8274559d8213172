import { readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'smol-toml'
import type { Environment } from '../../config/environment.ts'
import { defaultTokens, readTokens } from '../../config/tokens.ts'
import type { TokenTable } from '../../domain/price/token.ts'
import type { Violation } from '../../errors.ts'
import { isJsonObject } from '../../json/value.ts'

/** As buyers of the deployed protocol have it. */
export type BuyerConfig = {
  urls: readonly string[]
  /** `[registry.auth]`: exact URL → key. Never shown. */
  auth: ReadonlyMap<string, string>
  discoveryTimeoutMs: number
  /** `[tokens]`, or else those of `config/tokens.toml`. */
  tokens: TokenTable
  /** Later ones win. */
  files: readonly string[]
  keyFiles: readonly string[]
  /** Each with its file or TOML path. */
  problems: readonly Violation[]
}

export const DEFAULT_URLS: readonly string[] = ['http://localhost:8080']
const DEFAULT_DISCOVERY_TIMEOUT_SECONDS = 5
const MAX_CONFIG_BYTES = 1024 * 1024

/**
 * Merges `buyer.toml` and `buyer.secrets.toml` of `$XDG_CONFIG_HOME/arkhai` (`~/.config/arkhai`), or reads
 * `explicit`. Missing and invalid files count as empty, as deployed, and as problems. Never throws.
 */
export function readBuyerConfig(env: Environment, explicit?: string): BuyerConfig {
  const problems: Violation[] = []
  const files: string[] = []
  const keyFiles: string[] = []
  let merged: Table = {}
  for (const file of explicit === undefined ? defaultFiles(env) : [explicit]) {
    const table = readTable(file, explicit !== undefined, problems)
    if (table === null) continue
    files.push(file)
    if (isJsonObject(table.registry) && isJsonObject(table.registry.auth)) keyFiles.push(file)
    merged = mergeDeeply(merged, table)
  }
  const registry = isJsonObject(merged.registry) ? (merged.registry as Table) : {}
  return {
    urls: readUrls(registry, problems),
    auth: readAuth(registry, problems),
    discoveryTimeoutMs: readTimeout(registry, problems) * 1000,
    tokens: readTokenNames(merged.tokens, problems),
    files,
    keyFiles,
    problems,
  }
}

export function defaultFiles(env: Environment): string[] {
  const base = join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config'), 'arkhai')
  return [join(base, 'buyer.toml'), join(base, 'buyer.secrets.toml')]
}

type Table = { [name: string]: unknown }

function readTable(file: string, isNamed: boolean, problems: Violation[]): Table | null {
  try {
    if (statSync(file).size > MAX_CONFIG_BYTES) throw new Error(`larger than ${MAX_CONFIG_BYTES} bytes`)
    return parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    if (code !== 'ENOENT') problems.push({ path: file, message: `could not read it: ${firstLine(message)}` })
    else if (isNamed) problems.push({ path: file, message: 'could not read it: no such file' })
    return null
  }
}

/** The parser's other lines quote the file, which may hold keys. */
const firstLine = (message: string): string => message.split('\n')[0] ?? ''

function mergeDeeply(base: Table, over: Table): Table {
  const merged = new Map(Object.entries(base))
  for (const [name, value] of Object.entries(over)) {
    const known = merged.get(name)
    const both = isJsonObject(known) && isJsonObject(value)
    merged.set(name, both ? mergeDeeply(known as Table, value as Table) : value)
  }
  return Object.fromEntries(merged)
}

function readUrls(registry: Table, problems: Violation[]): readonly string[] {
  if (registry.url !== undefined)
    problems.push({ path: 'registry.url', message: 'is ignored; write urls = ["…"]' })
  const { urls } = registry
  if (urls === undefined) return DEFAULT_URLS
  if (!Array.isArray(urls)) {
    problems.push({ path: 'registry.urls', message: 'is ignored: it must be a list of URLs' })
    return DEFAULT_URLS
  }
  const texts = urls.filter((url) => typeof url === 'string').map((url) => url.trim())
  if (texts.length < urls.length)
    problems.push({ path: 'registry.urls', message: 'has entries that are not text; they are ignored' })
  const named = [...new Set(texts.filter((url) => url !== ''))]
  return named.length > 0 ? named : DEFAULT_URLS
}

function readAuth(registry: Table, problems: Violation[]): ReadonlyMap<string, string> {
  const auth = new Map<string, string>()
  if (registry.auth === undefined) return auth
  if (!isJsonObject(registry.auth)) {
    problems.push({ path: 'registry.auth', message: 'is ignored: it must be a table of "url" = "key"' })
    return auth
  }
  for (const [url, key] of Object.entries(registry.auth)) {
    if (typeof key !== 'string' || !/^[\x21-\x7e]*$/.test(key.trim()))
      problems.push({
        path: `registry.auth."${url}"`,
        message: 'is not a key that can be sent; it is ignored',
      })
    else if (url.trim() !== '' && key.trim() !== '') auth.set(url.trim(), key.trim())
  }
  return auth
}

function readTimeout(registry: Table, problems: Violation[]): number {
  const { discovery_timeout: value } = registry
  if (value === undefined) return DEFAULT_DISCOVERY_TIMEOUT_SECONDS
  const seconds = typeof value === 'string' && value.trim() === '' ? Number.NaN : Number(value)
  if (seconds > 0 && Number.isFinite(seconds)) return seconds
  problems.push({
    path: 'registry.discovery_timeout',
    message: `must be a number of seconds above 0; ${DEFAULT_DISCOVERY_TIMEOUT_SECONDS} is used`,
  })
  return DEFAULT_DISCOVERY_TIMEOUT_SECONDS
}

/** `"base:0x8335…" = { symbol = "USDC", decimals = 6 }`. */
function readTokenNames(tokens: unknown, problems: Violation[]): TokenTable {
  if (tokens === undefined) return defaultTokens(problems)
  if (!isJsonObject(tokens)) {
    const message = 'is ignored: it must be a table of "chain:address" = { symbol = "…", decimals = … }'
    problems.push({ path: 'tokens', message })
    return defaultTokens(problems)
  }
  const entries = Object.entries(tokens).map(([name, token]) => {
    const { symbol, decimals } = isJsonObject(token) ? token : {}
    const [chain, address] = name.split(':')
    return { path: `tokens."${name}"`, chain, address, symbol, decimals }
  })
  return readTokens(entries, problems)
}
