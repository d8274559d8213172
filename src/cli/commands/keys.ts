import { InvalidArgumentError, Option } from 'commander'
import { DELETED, type Receipt } from '../../client/signed-write.ts'
import { loadStoreUrl } from '../../config/config.ts'
import { KEY_ROLES, KEY_SCOPES } from '../../domain/api-key.ts'
import { nowMicros } from '../../domain/timestamp.ts'
import { isJsonObject, type JsonObject, listAt, textAt } from '../../json/value.ts'
import { mintRequestSchema } from '../../wire/api-key.ts'
import { type CommandContext, type CommandDefinition, type CommandGroup, count } from '../command.ts'
import { EXIT, usageError } from '../exit-codes.ts'
import { type ColumnOf, tableText } from '../output/table.ts'
import { printData, printReport, printValue, printWarning } from '../output/terminal.ts'
import { type AdminOptions, addAdmin, adminRequest } from '../registries/admin-request.ts'
import { readJson, readJsonObject, sendOrFail } from '../registries/registry-client.ts'

type MintOptions = AdminOptions & {
  scope: string
  role?: string
  expiresInDays?: number
  view?: string
  store?: boolean
}

const KEYS_PATH = '/admin/api-keys'

const mintCommand: CommandDefinition<MintOptions> = {
  summary: 'create a key, which is printed only once',
  define: (command) =>
    addAdmin(command)
      .argument('<name>', 'holder of the key')
      .addOption(new Option('--scope <scope>', 'rights of the key').choices(KEY_SCOPES).default('read'))
      .addOption(
        new Option('--role <role>', 'in place of a scope: GET /metrics only, or the rights of an operator')
          .choices(KEY_ROLES)
          .conflicts(['scope', 'view']),
      )
      .option('--expires-in-days <days>', 'days until the key expires (default: never)', count(1))
      .addOption(
        new Option(
          '--store',
          'write to the store of STORE_URL, without the service and without its REGISTRY_ADMIN_API_KEY',
        ).conflicts(['registries']),
      )
      .option('--view <name>', 'view of the gateway file (default: that of [access] keys)'),
  example: 'entrepot keys mint bob --scope write',
  /** The raw key is only shown here. */
  async run(context, options, [name = '']) {
    if (options.store) return mintIntoStore(context, options, name)
    const { terminal, openClient } = context
    const { role, expiresInDays: expires_in_days, view } = options
    const scope = role === undefined ? options.scope : undefined
    const body = JSON.stringify({ name, scope, role, expires_in_days, view })
    const request = { ...adminRequest(terminal, options, KEYS_PATH), method: 'POST', body } as const
    const answer = await sendOrFail(await openClient(), request, KEY)
    const minted = readJsonObject(answer)
    printReport(terminal, `key ${textAt(minted, 'id')} '${name}' (${role ?? scope}); it is not shown again:`)
    const [, warning] = /^299 \S+ "(.+)"$/.exec(String(answer.headers.warning)) ?? []
    if (warning !== undefined) printWarning(terminal, warning)
    await printValue(terminal, options.json && minted, textAt(minted, 'key') ?? '')
    return EXIT.ok
  },
}

/** What the service would check, and the view that only the service knows. */
async function mintIntoStore(
  { terminal, services }: CommandContext,
  { role, expiresInDays: days, view, json, ...options }: MintOptions,
  name: string,
): Promise<number> {
  const rights = role === undefined ? { scope: options.scope } : { role }
  const parsed = mintRequestSchema.safeParse({ name, ...rights, expires_in_days: days, view })
  if (!parsed.success) throw usageError(parsed.error.issues.map(({ message }) => message).join('; '))
  const expiresAt = days === undefined ? null : nowMicros() + days * MICROS_PER_DAY
  const scope = parsed.data.role ?? parsed.data.scope ?? 'read'
  const key = { name: parsed.data.name.trim(), scope, expiresAt, view: view ?? null }
  const { id, raw } = await services.mintKey(loadStoreUrl(terminal.env), key)
  printReport(terminal, `key ${id} '${name}' (${scope}); it is not shown again:`)
  await printValue(terminal, json && { id, name: key.name, ...rights, key: raw }, raw)
  return EXIT.ok
}

const MICROS_PER_DAY = 86_400_000_000

const listCommand: CommandDefinition<AdminOptions> = {
  summary: 'list all keys, revoked ones included, without their secret values',
  define: addAdmin,
  example: 'entrepot keys list -r http://127.0.0.1:8080',
  async run({ terminal, openClient }, options) {
    const request = { ...adminRequest(terminal, options, KEYS_PATH), method: 'GET' } as const
    const keys = listAt(readJson(await sendOrFail(await openClient(), request, KEYS))).filter(isJsonObject)
    await printData(terminal, options, keys, () => tableText(terminal, keys, COLUMNS))
    return EXIT.ok
  },
}

type RotateOptions = AdminOptions & { overlap?: number }

const rotateCommand: CommandDefinition<RotateOptions> = {
  summary: 'create a key that replaces the one of that name, which expires after the overlap',
  define: (command) =>
    addAdmin(command)
      .argument('<name>', 'holder of the only active key of that name')
      .option(
        '--overlap <duration>',
        'how long the old key stays good, such as 30m, 24h or 7d (default: 24h)',
        seconds,
      ),
  example: 'entrepot keys rotate bob --overlap 2h',
  /** The raw key is only shown here. */
  async run({ terminal, openClient }, options, [name = '']) {
    const body = JSON.stringify({ name, overlap_seconds: options.overlap })
    const request = {
      ...adminRequest(terminal, options, `${KEYS_PATH}/rotate`),
      method: 'POST',
      body,
    } as const
    const minted = readJsonObject(await sendOrFail(await openClient(), request, KEY))
    const old = `key ${textAt(minted, 'replaces', 'id')}`
    const end = shortTime(textAt(minted, 'replaces', 'expires_at'))
    printReport(
      terminal,
      `${old} expires at ${end}; key ${textAt(minted, 'id')} '${name}' is not shown again:`,
    )
    await printValue(terminal, options.json && minted, textAt(minted, 'key') ?? '')
    return EXIT.ok
  },
}

const SECONDS_IN: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

function seconds(text: string): number {
  const [, amount, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (amount === undefined) throw new InvalidArgumentError('expected a number and s, m, h or d, such as 24h')
  return Number(amount) * SECONDS_IN[unit]!
}

const revokeCommand: CommandDefinition<AdminOptions> = {
  summary: 'revoke a key permanently',
  define: (command) => addAdmin(command).argument('<id>', 'number of the key in `keys list`'),
  example: 'entrepot keys revoke 2',
  async run({ terminal, openClient }, options, [id = '']) {
    if (!/^-?\d{1,15}$/.test(id))
      throw usageError(`the id must be a number that entrepot keys list shows, not '${id}'`)
    const request = adminRequest(terminal, options, KEYS_PATH)
    const url = `${request.url}/${id}`
    await sendOrFail(await openClient(), { ...request, url, method: 'DELETE' }, DELETED)
    printReport(terminal, `key ${id} is revoked`)
    return EXIT.ok
  },
}

export const keysCommand: CommandGroup = {
  summary: 'manage the API keys of a Registry that you operate, with its REGISTRY_ADMIN_API_KEY',
  subcommands: { mint: mintCommand, list: listCommand, revoke: revokeCommand, rotate: rotateCommand },
}

const KEY: Receipt = {
  expected: '201 with the key',
  isReceipt: (response) => response.status === 201 && textAt(readJsonObject(response), 'key') !== null,
}

const KEYS: Receipt = {
  expected: '200 with the keys',
  isReceipt: (response) => response.status === 200 && Array.isArray(readJson(response)),
}

/** Times are UTC without a suffix; tables show minutes and the `Z`. */
const SECONDS = /:\d\d\.\d{6}$/

const time =
  (name: string) =>
  (key: JsonObject): string | null =>
    shortTime(textAt(key, name))

function shortTime(text: string | null): string | null {
  return text?.replace(SECONDS, 'Z').replace('T', ' ') ?? null
}

const COLUMNS: readonly ColumnOf<JsonObject>[] = [
  { title: 'ID', align: 'right', cell: (key) => textAt(key, 'id') },
  { title: 'NAME', cell: (key) => textAt(key, 'name') },
  { title: 'RIGHTS', cell: (key) => textAt(key, 'scope') ?? textAt(key, 'role') },
  { title: 'VIEW', cell: (key) => textAt(key, 'view') },
  { title: 'CREATED', cell: time('created_at') },
  { title: 'EXPIRES', cell: time('expires_at') },
  { title: 'LAST USED', cell: time('last_used_at') },
  { title: 'REVOKED', cell: time('revoked_at') },
]
