import { readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { parse, TomlError } from 'smol-toml'
import { z } from 'zod'
import { readKeys } from '../../config/identity.ts'
import type { Environment } from '../../config/settings.ts'
import { defaultTokens, readTokens } from '../../config/tokens.ts'
import { lineOf } from '../../config/toml-file.ts'
import { suggestName } from '../../domain/nearest-name.ts'
import type { TokenTable } from '../../domain/price/token.ts'
import { redactCredentials } from '../../domain/safe-text.ts'
import type { Pin } from '../../domain/source/upstream.ts'
import { urlKey } from '../../domain/url.ts'
import type { Violation } from '../../errors.ts'
import { isJsonObject, type JsonObject } from '../../json/value.ts'

/** A buyer's configuration, in the files of the deployed protocol. */
export type BuyerConfig = {
  /** Empty where no file names a Registry. */
  urls: readonly string[]
  /** `[registry.auth]`: URL as it is written → key. Never shown. */
  auth: ReadonlyMap<string, string>
  /** `[registry.authorities]`: URL without a slash at its end → who may sign its answers. */
  authorities: ReadonlyMap<string, Pin>
  discoveryTimeoutMs: number
  /** `[tokens]`, or else those of `config/tokens.toml`. */
  tokens: TokenTable
  /** Later ones win. */
  files: readonly string[]
  keyFiles: readonly string[]
  /** The file that has the URLs, or the one to write them into. */
  urlsFile: string
  /** The file of a URL's key, or the one to write it into. */
  keyFileOf: (url: string) => string
  /** What cannot be used, each with its file, line and TOML path. */
  problems: readonly Violation[]
  /** Names in the default files that resemble a known one. Other programs have sections of their own there. */
  warnings: readonly Violation[]
}

const DEFAULT_DISCOVERY_TIMEOUT_SECONDS = 5
const MAX_CONFIG_BYTES = 1024 * 1024

/**
 * Merges `buyer.toml` and `buyer.secrets.toml` of `$XDG_CONFIG_HOME/arkhai` (`~/.config/arkhai`), or reads
 * `explicit`, which has to exist. Never throws: what cannot be used is left out, and in `problems`.
 */
export function readBuyerConfig(env: Environment, explicit?: string): BuyerConfig {
  const problems: Violation[] = []
  const warnings: Violation[] = []
  const files: ConfigFile[] = []
  const keyFiles: string[] = []
  const sources = new Map<string, string>()
  let merged: Table = {}
  const names = explicit === undefined ? defaultFiles(env) : [explicit]
  let urlsFile = names[0]!
  for (const name of names) {
    const file = readTable(name, explicit !== undefined, problems)
    if (file === null) continue
    files.push(file)
    checkNames(file, explicit === undefined ? warnings : problems, explicit !== undefined)
    const { registry } = file.table
    if (registry !== undefined && !isJsonObject(registry))
      complain(file, 'registry', 'must be a section: [registry]', problems)
    const read = isJsonObject(registry) ? readRegistry(file, registry as Table, problems) : {}
    if (read.urls !== undefined) urlsFile = name
    if (read.auth !== undefined) keyFiles.push(name)
    for (const url of Object.keys(read.auth ?? {})) sources.set(urlKey(url), name)
    merged = mergeDeeply(merged, { ...file.table, registry: read })
  }
  const registry = (merged.registry ?? {}) as RegistryTable
  return {
    urls: registry.urls ?? [],
    auth: new Map(Object.entries(registry.auth ?? {})),
    authorities: new Map(Object.entries(registry.authorities ?? {})),
    discoveryTimeoutMs: (registry.discovery_timeout ?? DEFAULT_DISCOVERY_TIMEOUT_SECONDS) * 1000,
    tokens: readTokenNames(merged.tokens, files, problems),
    files: files.map(({ name }) => name),
    keyFiles,
    urlsFile,
    keyFileOf: (url) => sources.get(urlKey(url)) ?? names.at(-1)!,
    problems,
    warnings,
  }
}

export function defaultFiles(env: Environment): string[] {
  const base = join(env.XDG_CONFIG_HOME || join(env.HOME || homeFolder(), '.config'), 'arkhai')
  return [join(base, 'buyer.toml'), join(base, 'buyer.secrets.toml')]
}

/** A user without an entry in the system's list has none; containers take the root then. */
function homeFolder(): string {
  try {
    return homedir()
  } catch {
    return '/'
  }
}

type Table = { [name: string]: unknown }
type ConfigFile = { name: string; text: string; table: Table }

/** `null` for a file that is missing or cannot be used. */
function readTable(name: string, isNamed: boolean, problems: Violation[]): ConfigFile | null {
  try {
    if (statSync(name).size > MAX_CONFIG_BYTES) throw new Error(`larger than ${MAX_CONFIG_BYTES} bytes`)
    const text = readFileSync(name, 'utf8')
    return { name, text, table: parse(text) }
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    if (cause instanceof TomlError)
      problems.push({
        path: `${name}:${cause.line}:${cause.column}`,
        message: `not TOML: ${firstLine(message).replace(/^Invalid TOML document: /, '')}`,
      })
    else if (code !== 'ENOENT')
      problems.push({ path: name, message: `cannot be read: ${firstLine(message)}` })
    else if (isNamed) problems.push({ path: name, message: 'cannot be read: no such file' })
    return null
  }
}

/** The parser's other lines quote the file, which may hold keys. */
const firstLine = (message: string): string => message.split('\n')[0] ?? ''

function complain({ name, text }: ConfigFile, path: string, message: string, to: Violation[]): void {
  const line = lineOf(text, path)
  to.push({ path: `${line === null ? name : `${name}:${line}`}: ${path}`, message })
}

const SECTIONS = ['registry', 'tokens']
/** Of the deployed protocol's other programs. */
const OTHER_SECTIONS = ['aggregation', 'negotiation', 'wallet', 'chains', 'seller']
const SETTINGS = ['urls', 'auth', 'authorities', 'discovery_timeout']

/** Of a file that other programs share, only names that resemble a known one. */
function checkNames(file: ConfigFile, problems: Violation[], isOurs: boolean): void {
  const check = (name: string, path: string, names: readonly string[], kind: string): void => {
    const suggestion = suggestName(name, names)
    if (isOurs || suggestion !== '')
      complain(file, path, `unknown ${kind}${suggestion || '; remove it'}`, problems)
  }
  for (const [name, value] of Object.entries(file.table)) {
    if (SETTINGS.includes(name)) complain(file, name, 'unknown here; write it under [registry]', problems)
    else if (!SECTIONS.includes(name) && !OTHER_SECTIONS.includes(name))
      check(name, name, SECTIONS, isJsonObject(value) ? 'section' : 'setting')
  }
  const { registry } = file.table
  for (const name of isJsonObject(registry) ? Object.keys(registry) : [])
    if (!SETTINGS.includes(name)) check(name, `registry.${name}`, SETTINGS, 'setting')
}

type RegistryTable = {
  urls?: string[]
  auth?: Record<string, string>
  authorities?: Record<string, Pin>
  discovery_timeout?: number
}

/** Without what is not set or cannot be used. */
function readRegistry(file: ConfigFile, registry: Table, problems: Violation[]): RegistryTable {
  const refuse = (name: string, message: string): undefined =>
    void complain(file, `registry.${name}`, message, problems)
  const urls = readUrls(registry.urls, refuse)
  const auth = readAuth(registry.auth, refuse)
  const authorities = readAuthorities(registry.authorities, refuse)
  const seconds = readTimeout(registry.discovery_timeout, refuse)
  return {
    ...(urls !== undefined && { urls }),
    ...(auth !== undefined && { auth }),
    ...(authorities !== undefined && { authorities }),
    ...(seconds !== undefined && { discovery_timeout: seconds }),
  }
}

type Refuse = (name: string, message: string) => undefined

/** Without duplicates. An empty list names no Registry. */
function readUrls(urls: unknown, refuse: Refuse): string[] | undefined {
  if (urls === undefined) return undefined
  if (!Array.isArray(urls) || !urls.every((url) => typeof url === 'string'))
    return refuse('urls', 'must be a list of URLs: urls = ["https://registry.example"]')
  return [...new Set(urls.map((url) => url.trim()).filter((url) => url !== ''))]
}

function readAuth(auth: unknown, refuse: Refuse): Record<string, string> | undefined {
  if (auth === undefined) return undefined
  if (!isJsonObject(auth)) return refuse('auth', 'must be a table: [registry.auth] "URL" = "key"')
  const keys = Object.entries(auth).flatMap(([url, key]) => {
    if (typeof key === 'string' && /^[\x21-\x7e]*$/.test(key.trim()))
      return url.trim() === '' || key.trim() === '' ? [] : [[url.trim(), key.trim()] as const]
    refuse(`auth.${redactCredentials(url)}`, 'is not a valid key: it must be a string without spaces')
    return []
  })
  return Object.fromEntries(keys)
}

/** As the public buyers of the signed line have it: each entry has exactly `authority` and `identities`. */
function readAuthorities(authorities: unknown, refuse: Refuse): Record<string, Pin> | undefined {
  if (authorities === undefined) return undefined
  if (!isJsonObject(authorities))
    return refuse('authorities', 'must be tables: [registry.authorities."URL"] with authority and identities')
  const pins = Object.entries(authorities).flatMap(([url, entry]) => {
    const path = `authorities."${redactCredentials(url)}"`
    const pin = pinEntry.safeParse(entry)
    if (!pin.success) {
      refuse(
        path,
        'must have exactly authority = "NAME" and identities = [{ scheme = "…", identifier = "…" }], one or two',
      )
      return []
    }
    const keys = readKeys(pin.data.identities, (member, message) => refuse(`${path}.${member}`, message))
    return keys === null ? [] : [[withoutSlash(url.trim()), { authority: pin.data.authority, keys }] as const]
  })
  return Object.fromEntries(pins)
}

const pinEntry = z.strictObject({
  authority: z.string().min(1),
  identities: z
    .array(z.strictObject({ scheme: z.string(), identifier: z.string() }))
    .min(1)
    .max(2),
})

export const withoutSlash = (url: string): string => url.replace(/\/+$/, '')

function readTimeout(value: unknown, refuse: Refuse): number | undefined {
  if (value === undefined) return undefined
  const isNumeric = typeof value === 'number' || (typeof value === 'string' && value.trim() !== '')
  const seconds = isNumeric ? Number(value) : Number.NaN
  if (seconds > 0 && Number.isFinite(seconds)) return seconds
  return refuse('discovery_timeout', 'must be a number of seconds above 0')
}

function mergeDeeply(base: Table, over: Table): Table {
  const merged = new Map(Object.entries(base))
  for (const [name, value] of Object.entries(over)) {
    const before = merged.get(name)
    const both = isJsonObject(before) && isJsonObject(value)
    merged.set(name, both ? mergeDeeply(before as Table, value as Table) : value)
  }
  return Object.fromEntries(merged)
}

/** `"base:0x8335…" = { symbol = "USDC", decimals = 6 }`. Later files win. */
function readTokenNames(tokens: unknown, files: readonly ConfigFile[], problems: Violation[]): TokenTable {
  if (tokens === undefined) return defaultTokens(problems)
  const faults: Violation[] = []
  const table = isJsonObject(tokens) ? readTokens(tokenEntries(tokens), faults) : defaultTokens(problems)
  if (!isJsonObject(tokens))
    faults.push({
      path: 'tokens',
      message: 'must be a table of "chain:address" = { symbol = "…", decimals = … }',
    })
  for (const { path, message } of faults) {
    const entry = path.replaceAll('"', '').replace(/\.\w+$/, '')
    const file = files.findLast(({ text }) => lineOf(text, entry) !== null)
    const place = file === undefined ? '' : `${file.name}:${lineOf(file.text, entry)}: `
    problems.push({ path: `${place}${path}`, message })
  }
  return table
}

const tokenEntries = (tokens: JsonObject) =>
  Object.entries(tokens).map(([name, token]) => {
    const { symbol, decimals } = isJsonObject(token) ? token : {}
    const [chain, address = ''] = name.split(':')
    const path = `tokens."${name}"`
    // Only a token of a chain has an address.
    return address === '' || address.startsWith('0x')
      ? { path, chain, address, symbol, decimals }
      : { path, mechanism: chain, asset: address, symbol, decimals }
  })
