import type { Row } from './row.ts'
import { bold, isLively, jsonFor, print, type Terminal } from './terminal.ts'

export type OutputOptions = { table?: boolean; json?: boolean; ndjson?: boolean }

export async function printListings(
  terminal: Terminal,
  rows: readonly Row[],
  options: OutputOptions,
): Promise<void> {
  if (isForPeople(terminal, options)) await printTable(terminal, rows)
  else if (options.ndjson) await print(terminal, rows.map((row) => `${lineOf(terminal, row)}\n`).join(''))
  else if (rows.length === 0) await print(terminal, '[]\n')
  else await print(terminal, `[\n${rows.map((row) => jsonFor(terminal, row)).join(',\n')}\n]\n`)
}

export const isForPeople = ({ stdout }: Terminal, { table, json, ndjson }: OutputOptions): boolean =>
  table === true || (stdout.isTTY === true && !json && !ndjson)

/** Line breaks in JSON text are whitespace between tokens. */
const lineOf = (terminal: Terminal, row: Row): string => jsonFor(terminal, row).replace(/[\r\n]+/g, ' ')

async function printTable(terminal: Terminal, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) {
    await print(terminal, 'no listings matched\n')
    return
  }
  const { listingTable } = await import('./listing-table.ts')
  const width = terminal.stdout.isTTY ? terminal.stdout.columns || 80 : null
  const [titles = '', ...lines] = listingTable(rows, width)
  const head = isLively(terminal, terminal.stdout) ? bold(titles) : titles
  await print(terminal, `${[head, ...lines].join('\n')}\n`)
}
