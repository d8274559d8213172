import { DELETED, type Receipt } from '../../client/signed-write.ts'
import { readSubject, subjectText } from '../../domain/block.ts'
import { plural } from '../../domain/plural.ts'
import {
  at,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listAt,
  numberAt,
  textAt,
} from '../../json/value.ts'
import type { CommandContext, CommandDefinition } from '../command.ts'
import { CliError, EXIT, usageError } from '../exit-codes.ts'
import { type ColumnOf, tableText } from '../output/table.ts'
import { printData, printReport } from '../output/terminal.ts'
import { type AdminOptions, addAdmin, adminRequest } from '../registries/admin-request.ts'
import { readJson, readJsonObject, sendOrFail } from '../registries/registry-client.ts'

const PATH = '/admin/blocks'
const IS_DATE = /^\d{4}-\d\d-\d\d$/

type BlockOptions = AdminOptions & { reason: string; source?: string; until?: string }

export const blockCommand: CommandDefinition<BlockOptions> = {
  summary: 'leave a seller, a storefront or one listing out of every answer; for operators',
  define: (command) =>
    addAdmin(command)
      .argument('<subject>', 'address or key of a publisher, URL of a storefront, or PUBLISHER/LISTING_ID')
      .requiredOption('--reason <text>', 'why; the blocked seller reads it')
      .option('--source <name>', 'the only source that it applies to (default: all)')
      .option('--until <date>', 'its last day in UTC, such as 2026-12-31 (default: until it is undone)'),
  example: 'entrepot block https://scam.example/shop --reason "took the deposit, ticket 812"',
  async run({ terminal, openClient }, options, [subject = '']) {
    const { reason, source, until } = options
    const today = new Date().toISOString().slice(0, 10)
    if (until !== undefined && IS_DATE.test(until) && until < today)
      throw usageError(`--until ${until} is past, so the block would end at once; today is ${today} in UTC`)
    const body = JSON.stringify({ subject, reason, source, until })
    const request = { ...adminRequest(terminal, options, PATH), method: 'POST', body } as const
    const client = await openClient()
    const block = readJsonObject(await sendOrFail(client, request, BLOCK))
    const name = `block ${textAt(block, 'id')}`
    const asked = { ...adminRequest(terminal, options, '/admin/sources'), method: 'GET' } as const
    // A Registry without upstreams has no such route.
    const sources = await sendOrFail(client, asked, SOURCES).catch(() => null)
    const hidden = sources === null ? '' : ` and ${hiddenBy(name, readJson(sources))}`
    printReport(terminal, `${name} holds${hidden}; undo it: entrepot un${name}`)
    await printData(terminal, options, block, () => tableText(terminal, [block], COLUMNS))
    return EXIT.ok
  },
}

/** In words, from what each source leaves out. */
function hiddenBy(name: string, body: JsonValue): string {
  const rules = listAt(body, 'sources').flatMap((source) => listAt(source, 'left_out'))
  const counts = rules.filter((rule) => textAt(rule, 'rule') === name)
  const hidden = counts.reduce<number>((sum, rule) => sum + (numberAt(rule, 'listings') ?? 0), 0)
  if (hidden > 0) return `hides ${plural(hidden, 'open listing')}`
  return counts.some((rule) => numberAt(rule, 'listings') === null)
    ? 'hides what sources have that do not answer now'
    : 'hides nothing now: no open listing is of it'
}

export const unblockCommand: CommandDefinition<AdminOptions> = {
  summary: 'undo a block; for operators',
  define: (command) =>
    addAdmin(command).argument('<block>', 'number in `entrepot blocks`, or what is blocked'),
  example: 'entrepot unblock https://scam.example/shop',
  async run(context, options, [text = '']) {
    const { terminal, openClient } = context
    const id = /^\d{1,15}$/.test(text) ? text : await idOf(context, options, text)
    const request = adminRequest(terminal, options, `${PATH}/${id}`)
    await sendOrFail(await openClient(), { ...request, method: 'DELETE' }, DELETED)
    printReport(terminal, `block ${id} is undone`)
    return EXIT.ok
  },
}

export const blocksCommand: CommandDefinition<AdminOptions> = {
  summary: 'list what is blocked, ended blocks included; for operators',
  define: addAdmin,
  example: 'entrepot blocks',
  async run(context, options) {
    const blocks = await listBlocks(context, options)
    await printData(context.terminal, options, blocks, () => tableText(context.terminal, blocks, COLUMNS))
    return EXIT.ok
  },
}

async function listBlocks(
  { terminal, openClient }: CommandContext,
  options: AdminOptions,
): Promise<readonly JsonObject[]> {
  const request = { ...adminRequest(terminal, options, PATH), method: 'GET' } as const
  return listAt(readJson(await sendOrFail(await openClient(), request, BLOCKS))).filter(isJsonObject)
}

/** Of the only block of that subject that holds. */
async function idOf(context: CommandContext, options: AdminOptions, text: string): Promise<string> {
  const subject = readSubject(text)
  if (subject === null)
    throw usageError(`'${text}' is neither the number of a block nor what a block can have`)
  const blocks = await listBlocks(context, options)
  const matching = blocks.filter(
    (block) => textAt(block, 'subject') === subjectText(subject) && textAt(block, 'ended_at') === null,
  )
  const ids = matching.map((block) => textAt(block, 'id') ?? '')
  if (ids.length === 1) return ids[0]!
  const why = ids.length === 0 ? 'no block of it holds' : `blocks ${ids.join(', ')} hold: name one of them`
  throw new CliError(EXIT.failure, `${text}: ${why}`)
}

const BLOCK: Receipt = {
  expected: '201 with the block',
  isReceipt: (response) => response.status === 201 && textAt(readJsonObject(response), 'id') !== null,
}

const BLOCKS: Receipt = {
  expected: '200 with the blocks',
  isReceipt: (response) => response.status === 200 && Array.isArray(readJson(response)),
}

const SOURCES: Receipt = {
  expected: '200 with the sources',
  isReceipt: (response) => response.status === 200 && Array.isArray(at(readJson(response), 'sources')),
}

/** Times are UTC without a suffix; tables show minutes and the `Z`. */
const time =
  (name: string) =>
  (block: JsonObject): string | null =>
    textAt(block, name)
      ?.replace(/:\d\d\.\d{6}$/, 'Z')
      .replace('T', ' ') ?? null

const COLUMNS: readonly ColumnOf<JsonObject>[] = [
  { title: 'ID', align: 'right', cell: (block) => textAt(block, 'id') },
  { title: 'SUBJECT', cell: (block) => textAt(block, 'subject') },
  { title: 'SOURCE', cell: (block) => textAt(block, 'source') },
  { title: 'REASON', cell: (block) => textAt(block, 'reason') },
  { title: 'BY', cell: (block) => textAt(block, 'by') },
  { title: 'SINCE', cell: time('created_at') },
  { title: 'UNTIL', cell: time('until') },
  { title: 'ENDED', cell: time('ended_at') },
]
