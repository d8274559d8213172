import { safeText } from '../../domain/safe-text.ts'
import type { Terminal } from './terminal.ts'

export type TableColumn = {
  title: string
  align?: 'left' | 'right'
  /** Default 4. */
  minWidth?: number
  /** Cut at its beginning: URLs differ at the end. */
  keepsEnd?: boolean
}

/** Between columns. */
export const GAP = '  '

/** Cuts the widest columns to fit `width`. Cells must hold no control characters. */
export async function renderTable(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  width: number | null,
): Promise<string[]> {
  const measure = await loadMeasure(rows)
  const widths = columns.map(({ title }, n) =>
    Math.max(...[title, ...rows.map((row) => row[n] ?? '')].map(measure)),
  )
  if (width !== null) shrink(widths, columns, width)
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, n) => fitted(cell, widths[n]!, columns[n]!, measure))
      .join(GAP)
      .trimEnd()
  return [line(columns.map(({ title }) => title)), ...rows.map(line)]
}

export type ColumnOf<Row> = TableColumn & {
  /** `null` is shown as `-`. */
  cell: (row: Row) => string | null
}

/** As wide as the terminal. */
export async function tableText<Row>(
  { stdout }: Terminal,
  rows: readonly Row[],
  columns: readonly ColumnOf<Row>[],
): Promise<string> {
  const cells = rows.map((row) => columns.map(({ cell }) => safeText(cell(row) ?? '-')))
  return `${(await renderTable(columns, cells, stdout.columns || 80)).join('\n')}\n`
}

type Measure = (text: string) => number

/** `·` and `…` are as wide as a letter. */
const isPlain = (text: string): boolean => /^[ -~·…]*$/.test(text)

/** Most text is plain, and `string-width` is slow to load and to run. */
async function loadMeasure(rows: readonly (readonly string[])[]): Promise<Measure> {
  if (rows.every((row) => row.every(isPlain))) return (text) => text.length
  const { default: stringWidth } = await import('string-width')
  return (text) => (isPlain(text) ? text.length : stringWidth(text))
}

/** Takes from the widest column, one character at a time. */
function shrink(widths: number[], columns: readonly TableColumn[], width: number): void {
  let excess = widths.reduce((sum, one) => sum + one, GAP.length * (widths.length - 1)) - width
  while (excess > 0) {
    const widest = widths.reduce(
      (best, one, n) => (one > (columns[n]?.minWidth ?? 4) && one > (widths[best] ?? 0) ? n : best),
      -1,
    )
    if (widest < 0) return
    widths[widest]!--
    excess--
  }
}

function fitted(text: string, width: number, { align, keepsEnd }: TableColumn, measure: Measure): string {
  const shown =
    measure(text) <= width ? text : keepsEnd ? `…${text.slice(1 - width)}` : cut(text, width, measure)
  const padding = ' '.repeat(Math.max(0, width - measure(shown)))
  return align === 'right' ? padding + shown : shown + padding
}

function cut(text: string, width: number, measure: Measure): string {
  let start = ''
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (measure(start + segment) > width - 1) break
    start += segment
  }
  return `${start.replace(/…$/, '')}…`
}
