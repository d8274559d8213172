/** One line of a table, by column. */
export type TableRow = Readonly<Record<string, string | number>>

/** One claim about speed or size, and its measurement. */
export type Bench = {
  /** The NAME of `node bench/bench.ts NAME`. */
  name: string
  /** The claim, in a line. */
  what: string
  /** Required programs, with the names of their Debian packages. Without them the bench is skipped. */
  needs?: readonly string[]
  run: () => Promise<readonly TableRow[]>
}

/** Plain text in aligned columns: words left, numbers right. Columns are in order of first occurrence. */
export function renderTable(rows: readonly TableRow[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const lines = [columns, ...rows.map((row) => columns.map((column) => textOf(row[column])))]
  const widths = columns.map((_, n) => Math.max(...lines.map((line) => line[n]!.length)))
  const toRight = columns.map((column) => rows.every((row) => typeof row[column] !== 'string'))
  return lines
    .map((line) =>
      line.map((text, n) => (toRight[n] ? text.padStart(widths[n]!) : text.padEnd(widths[n]!))).join('  '),
    )
    .map((line) => `${line.trimEnd()}\n`)
    .join('')
}

const textOf = (value: string | number | undefined): string =>
  typeof value === 'number' ? value.toLocaleString('en', { maximumSignificantDigits: 3 }) : (value ?? '')
