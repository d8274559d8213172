import { InvalidArgumentError } from 'commander'
import type { Receipt } from '../../client/signed-write.ts'
import { formatTimestamp, parseTimestamp } from '../../domain/timestamp.ts'
import { formatJson, isJsonObject, type JsonObject, listAt, textAt } from '../../json/value.ts'
import { type CommandContext, type CommandDefinition, count } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { type ColumnOf, tableText } from '../output/table.ts'
import { escapeForTerminal, isHumanOutput, print, printText } from '../output/terminal.ts'
import { type AdminOptions, addAdmin, adminRequest } from '../registries/admin-request.ts'
import { readJson, sendOrFail } from '../registries/registry-client.ts'

const PAGE = 1000

type AuditOptions = AdminOptions & { since?: string; limit?: number }

export const auditCommand: CommandDefinition<AuditOptions> = {
  summary: 'list what operators did, and sellers where that is recorded; for operators',
  define: (command) =>
    addAdmin(command)
      .option(
        '--since <time>',
        'from then on, such as 1h, 7d or 2026-11-20T15:33Z (default: the latest)',
        since,
      )
      .option('--limit <n>', 'entries at most (default: 100, and with --since all)', count(1)),
  example: 'entrepot audit --since 1h',
  /** In a pipe, one JSON object a line. */
  async run(context, options) {
    const { terminal } = context
    const rows: JsonObject[] = []
    for await (const page of pages(context, options)) {
      rows.push(...page)
      if (isHumanOutput(terminal, options)) continue
      for (const row of page) await print(terminal, `${escapeForTerminal(terminal, formatJson(row))}\n`)
    }
    if (isHumanOutput(terminal, options)) await printText(terminal, await tableText(terminal, rows, COLUMNS))
    return EXIT.ok
  },
}

async function* pages(
  { terminal, openClient }: CommandContext,
  options: AuditOptions,
): AsyncGenerator<readonly JsonObject[]> {
  const client = await openClient()
  let left = options.limit ?? (options.since === undefined ? 100 : Number.POSITIVE_INFINITY)
  for (let since = options.since; left > 0; ) {
    const limit = Math.min(left, PAGE)
    const query = new URLSearchParams({ limit: String(limit), ...(since !== undefined && { since }) })
    const request = adminRequest(terminal, options, `/admin/audit?${query}`)
    const answer = await sendOrFail(client, { ...request, method: 'GET' }, ENTRIES)
    const page = listAt(readJson(answer)).filter(isJsonObject)
    yield page
    left -= page.length
    // The latest ones are one page.
    if (since === undefined || page.length < limit) return
    since = textAt(page.at(-1), 'at') ?? undefined
  }
}

const ENTRIES: Receipt = {
  expected: '200 with the entries',
  isReceipt: (response) => response.status === 200 && Array.isArray(readJson(response)),
}

const AGO = /^(\d{1,6})(s|min|m|h|d)$/
const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, min: 60, h: 3600, d: 86_400 }

/** As the Registry writes times. */
function since(text: string): string {
  const [, number, unit] = AGO.exec(text) ?? []
  if (unit !== undefined) return formatTimestamp((Date.now() - Number(number) * SECONDS[unit]! * 1000) * 1000)
  const at = parseTimestamp(text)
  if (at === null) throw new InvalidArgumentError('Expected a time such as 1h, 7d or 2026-11-20T15:33Z.')
  return formatTimestamp(at)
}

const COLUMNS: readonly ColumnOf<JsonObject>[] = [
  {
    title: 'TIME',
    cell: (entry) =>
      textAt(entry, 'at')
        ?.replace('T', ' ')
        .replace(/\.\d+$/, 'Z') ?? null,
  },
  { title: 'BY', cell: (entry) => textAt(entry, 'by') ?? textAt(entry, 'publisher') },
  { title: 'ACT', cell: (entry) => textAt(entry, 'act') },
  { title: 'SUBJECT', cell: (entry) => textAt(entry, 'subject') },
  { title: 'RESULT', cell: (entry) => textAt(entry, 'result') },
  { title: 'FROM', cell: (entry) => textAt(entry, 'client') },
]
