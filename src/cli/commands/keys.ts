import { type Command, Option } from 'commander'
import { DELETED, type Receipt } from '../../client/signed-write.ts'
import { withEnvFile } from '../../config/env-file.ts'
import { readSecretFile } from '../../config/secret-files.ts'
import { type Environment, serviceUrl } from '../../config/settings.ts'
import { KEY_SCOPES } from '../../domain/api-key.ts'
import { redactCredentials } from '../../domain/safe-text.ts'
import { ConfigError, type Violation } from '../../errors.ts'
import { isJsonObject, type JsonObject, listAt, textAt } from '../../json/value.ts'
import { type CommandDefinition, type CommandGroup, collectUrls, count, JSON_OPTION } from '../command.ts'
import { CliError, EXIT, usageError } from '../exit-codes.ts'
import { type ColumnOf, tableText } from '../output/table.ts'
import { printData, printReport, printValue, type Terminal } from '../output/terminal.ts'
import {
  type ApiRequest,
  endpointUrl,
  readJson,
  readJsonObject,
  sendOrFail,
} from '../registries/registry-client.ts'
import { splitList, urlProblem } from '../registries/select-registries.ts'

type AdminOptions = {
  /** Default: `HOST` and `PORT`. */
  registries?: readonly string[]
  json?: boolean
}

type MintOptions = AdminOptions & { scope: string; expiresInDays?: number; view?: string }

const ADMIN_TIMEOUT_MS = 10_000

const addAdmin = (command: Command): Command =>
  command
    .option('-r, --registries <url>', 'URL of the Registry (default: http://$HOST:$PORT)', collectUrls)
    .option(...JSON_OPTION)

const mintCommand: CommandDefinition<MintOptions> = {
  summary: 'create a key, which is printed only once',
  define: (command) =>
    addAdmin(command)
      .argument('<name>', 'holder of the key')
      .addOption(new Option('--scope <scope>', 'rights of the key').choices(KEY_SCOPES).default('read'))
      .option('--expires-in-days <days>', 'days until the key expires (default: never)', count(1))
      .option('--view <name>', 'view of the gateway file (default: that of [access] keys)'),
  example: 'entrepot keys mint alice --scope write',
  /** The raw key is only shown here. */
  async run({ terminal, openClient }, options, [name = '']) {
    const { scope, expiresInDays: expires_in_days, view } = options
    const body = JSON.stringify({ name, scope, expires_in_days, view })
    const request = { ...adminRequest(terminal, options), method: 'POST', body } as const
    const minted = readJsonObject(await sendOrFail(await openClient(), request, KEY))
    printReport(terminal, `key ${textAt(minted, 'id')} '${name}' (${options.scope}); it is not shown again:`)
    await printValue(terminal, options.json && minted, textAt(minted, 'key') ?? '')
    return EXIT.ok
  },
}

const listCommand: CommandDefinition<AdminOptions> = {
  summary: 'list all keys, revoked ones included, without their secret values',
  define: addAdmin,
  example: 'entrepot keys list -r http://127.0.0.1:8080',
  async run({ terminal, openClient }, options) {
    const request = { ...adminRequest(terminal, options), method: 'GET' } as const
    const keys = listAt(readJson(await sendOrFail(await openClient(), request, KEYS))).filter(isJsonObject)
    await printData(terminal, options, keys, () => tableText(terminal, keys, COLUMNS))
    return EXIT.ok
  },
}

const revokeCommand: CommandDefinition<AdminOptions> = {
  summary: 'revoke a key permanently',
  define: (command) => addAdmin(command).argument('<id>', 'number of the key in `keys list`'),
  example: 'entrepot keys revoke 2',
  async run({ terminal, openClient }, options, [id = '']) {
    if (!/^\d{1,15}$/.test(id))
      throw usageError(`the id must be a number that entrepot keys list shows, not '${id}'`)
    const request = adminRequest(terminal, options)
    const url = `${request.url}/${id}`
    await sendOrFail(await openClient(), { ...request, url, method: 'DELETE' }, DELETED)
    printReport(terminal, `key ${id} is revoked`)
    return EXIT.ok
  },
}

export const keysCommand: CommandGroup = {
  summary: 'manage the API keys of a Registry that you operate, with its REGISTRY_ADMIN_API_KEY',
  subcommands: { mint: mintCommand, list: listCommand, revoke: revokeCommand },
}

const KEY: Receipt = {
  expected: '201 with the key',
  isReceipt: (response) => response.status === 201 && textAt(readJsonObject(response), 'key') !== null,
}

const KEYS: Receipt = {
  expected: '200 with the keys',
  isReceipt: (response) => response.status === 200 && Array.isArray(readJson(response)),
}

/** The admin key goes to one Registry, and never to those that a buyer has configured. */
function adminRequest(terminal: Terminal, { registries }: AdminOptions): Omit<ApiRequest, 'method'> {
  const env = withEnvFile(terminal.env)
  const urls = splitList(registries)
  if (urls.length > 1) throw usageError('name one Registry: the admin key belongs to one')
  if (urls.length === 0 && !env.HOST && !env.PORT)
    throw new CliError(EXIT.badConfig, 'no Registry is named: use -r URL, or set HOST and PORT')
  const url = urls[0] ?? serviceUrl(env.HOST || '127.0.0.1', env.PORT || '8080')
  const problem = urlProblem(url)
  if (problem !== null) throw usageError(`${redactCredentials(url)} ${problem}`)
  const key = adminKey(env)
  return { url: endpointUrl({ url }, '/admin/api-keys'), key, timeoutMs: ADMIN_TIMEOUT_MS }
}

function adminKey(env: Environment): string {
  const problems: Violation[] = []
  const key = readSecretFile('REGISTRY_ADMIN_API_KEY', env, problems) ?? env.REGISTRY_ADMIN_API_KEY?.trim()
  if (problems.length > 0) throw new ConfigError(problems)
  if (!key)
    throw new CliError(EXIT.notAuthorized, 'set REGISTRY_ADMIN_API_KEY to the admin key of that Registry')
  return key
}

/** Times are UTC without a suffix; tables show minutes and the `Z`. */
const SECONDS = /:\d\d\.\d{6}$/

const time =
  (name: string) =>
  (key: JsonObject): string | null =>
    textAt(key, name)?.replace(SECONDS, 'Z').replace('T', ' ') ?? null

const COLUMNS: readonly ColumnOf<JsonObject>[] = [
  { title: 'ID', align: 'right', cell: (key) => textAt(key, 'id') },
  { title: 'NAME', cell: (key) => textAt(key, 'name') },
  { title: 'SCOPE', cell: (key) => textAt(key, 'scope') },
  { title: 'VIEW', cell: (key) => textAt(key, 'view') },
  { title: 'CREATED', cell: time('created_at') },
  { title: 'EXPIRES', cell: time('expires_at') },
  { title: 'LAST USED', cell: time('last_used_at') },
  { title: 'REVOKED', cell: time('revoked_at') },
]
