/** What one line of a table says, by column. */
export type Row = Readonly<Record<string, string | number>>

/** Plain text, columns aligned: words to the left, numbers to the right. Columns come in the order they are met. */
export function renderTable(rows: readonly Row[]): string {
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
