import { type Command, InvalidArgumentError, Option } from 'commander'
import type { ApiKey } from '../domain/api-key.ts'
import type { Market } from '../gateway/market.ts'
import type { Terminal } from './output/terminal.ts'
import type { ClientOptions, RegistryClient } from './registries/registry-client.ts'

/** A file of `commands/` exports one. It is loaded when the command is named on the command line. */
export type CommandDefinition<Options = never> = {
  summary: string
  /** Adds arguments and options. */
  define?: (command: Command) => Command
  example: string
  /** Gives the exit code. A thrown error is printed and mapped by `exit-codes.ts`. */
  run: (context: CommandContext, options: Options, args: readonly string[]) => Promise<number>
}

/** A command that only groups other commands. */
export type CommandGroup = { summary: string; subcommands: Readonly<Record<string, CommandDefinition>> }

export type CommandContext = {
  terminal: Terminal
  /** The client is closed after the command. */
  openClient: (options?: ClientOptions) => Promise<RegistryClient>
  services: Pick<
    Services,
    'serve' | 'serveAgents' | 'checkStore' | 'mintKey' | 'backupStore' | 'restoreStore'
  >
  /** With all commands defined. */
  loadProgram: () => Promise<Command>
}

/** `raw`: shown once. */
export type MintedKey = { id: number; raw: string }

/** `blocks`: absent without any. */
export type StoreCounts = { listings: number; publishers: number; keys: number; blocks?: number }

/** `keys`: those that could pass a gate. */
export type StoreCheck = { warnings: readonly string[]; keys: readonly Pick<ApiKey, 'name' | 'view'>[] }

type NewStoredKey = Pick<ApiKey, 'name' | 'scope' | 'expiresAt' | 'view'>

/** What the process provides. */
export type Services = {
  openRegistryClient: (options?: ClientOptions) => Promise<RegistryClient>
  serveAgents: (market: Market, terminal: Terminal, onError: (cause: unknown) => void) => Promise<void>
  serve: () => Promise<number>
  /** @throws ConfigError or EntrepotError for a store that cannot be used */
  checkStore: (url: string) => Promise<StoreCheck>
  mintKey: (url: string, key: NewStoredKey) => Promise<MintedKey>
  backupStore: (url: string, file: string) => Promise<StoreCounts & { bytes: number }>
  restoreStore: (file: string, url: string) => Promise<StoreCounts>
  setExitCode: (code: number) => void
  version: string
}

export const JSON_OPTION = ['--json', 'print JSON, on a terminal too'] as const

export const TABLE_OPTION = ['--table', 'print for people, in a pipe too'] as const

export const KEY_FILE_OPTION = [
  '--key-file <file>',
  'file with a private key in hex or an encrypted keystore (default: ENTREPOT_PRIVATE_KEY)',
] as const

export const LISTING_ARGUMENT = [
  '<id>',
  'listing_id, or its first 8 or more characters if only one begins so',
] as const

/** For commands that complete an id among the seller's own listings. */
export const OWN_LISTING_ARGUMENT = [
  '<id>',
  'listing_id; of a UUID the first 8 or more characters, if only one of your listings begins so',
] as const

export const AS_IS_OPTION = [
  '--as-is',
  'publish also what does not fit the listing shape, or looks like a mistake',
] as const

export const LISTING_FILE = [
  '<file>',
  'one listing or several, as a JSON array, NDJSON or YAML; - for stdin',
] as const

const addRegistries = (command: Command): Command =>
  command.option(
    '-r, --registries <url>',
    'URL of a Registry, or several separated by commas; repeatable (default: [registry] urls of buyer.toml)',
    collectUrls,
  )

/** For commands that only read. */
export const addReading = (command: Command): Command =>
  addRegistries(command)
    .option(
      '--discovery-timeout <seconds>',
      'time for each Registry (default: [registry] discovery_timeout, or 5)',
      seconds,
    )
    .option(
      '--identity <file>',
      'key that signs requests to Registries of the signed line (default: a new one)',
    )

/** For commands that write. */
export const addSigning = (command: Command): Command =>
  addRegistries(command)
    .option(...KEY_FILE_OPTION)
    .option('--identity <file>', 'key that signs for Registries of the signed line (default: the wallet)')
    .option(
      '--deadline <seconds>',
      'time for the whole command, waits for Retry-After included (default: 3600)',
      seconds,
    )
    .option(
      '--timeout <seconds>',
      'time for each request; after five in a row without an answer a Registry is skipped (default: 10)',
      seconds,
    )
    .addOption(new Option(...JSON_OPTION).conflicts(['ndjson']))
    .option('--ndjson', 'print each result as soon as it is known, one JSON object a line')

/** For commands that may close many listings. @param asked when they ask */
export const addClosing = (command: Command, asked: string): Command =>
  command
    .option('--dry-run', 'only print what would be written')
    .option('--yes', `do not ask before ${asked}`)
    .option('--max-close <n>', 'close up to so many at each Registry without asking', count(0))

export const collect = (value: string, before: readonly string[] = []): string[] => [...before, value]

/** An unset variable must not select the Registries of the configuration. */
export function collectUrls(value: string, before?: readonly string[]): string[] {
  if (/^[\s,]*$/.test(value)) throw new InvalidArgumentError('Expected a URL.')
  return collect(value, before)
}

/** An unset variable must not select every listing. */
export function notEmpty(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('Expected a value.')
  return text
}

/** Of a filter whose values are a set. */
export const collectFilled = (value: string, before?: readonly string[]): string[] =>
  collect(notEmpty(value), before)

/** Of a filter that has one value: the last one must not win in silence. */
export function once(value: string, before?: string): string {
  if (before !== undefined) throw new InvalidArgumentError('Expected one value.')
  return notEmpty(value)
}

export const count =
  (least: number) =>
  (text: string): number => {
    if (/^\d{1,9}$/.test(text) && Number(text) >= least) return Number(text)
    throw new InvalidArgumentError(`Expected a whole number of at least ${least}, with at most 9 digits.`)
  }

export function seconds(text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && value > 0 && value <= 86_400) return value
  throw new InvalidArgumentError('Expected a number of seconds above 0, at most 86400.')
}
