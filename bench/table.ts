/** What one line of a table says, by column. */
export type TableRow = Readonly<Record<string, string | number>>

/** One claim about speed or size, and how to see whether it holds. */
export type Bench = {
  /** What `node bench/bench.ts NAME` calls it. */
  name: string
  /** The claim, in a line. */
  what: string
  /** Debian packages of programs of the same name that have to be on PATH. Without them the bench is skipped. */
  needs?: readonly string[]
  run: () => Promise<readonly TableRow[]>
}

/** Plain text, columns aligned: words to the left, numbers to the right. Columns come in the order they are met. */
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
