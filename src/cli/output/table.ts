import { safeText } from '../../domain/safe-text.ts'
import type { Terminal } from './terminal.ts'

type TableColumn = {
  title: string
  align?: 'left' | 'right'
  /** Default 4. */
  minWidth?: number
  /** Cells up to this width are never cut. */
  wholeWidth?: number
  /** Cut at its beginning: URLs differ at the end. */
  keepsEnd?: boolean
  /** Columns with the lowest are left out first, until the others fit. */
  dropOrder?: number
}

/** Between columns. */
const GAP = '  '

/** Leaves columns out and cuts the widest ones to fit `width`. Cells must hold no control characters. */
export async function renderTable(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  width: number | null,
): Promise<string[]> {
  const measure = await loadMeasure(rows)
  const measured = columns.map((column, n): Measured => {
    const { title, minWidth = 4, wholeWidth = 0 } = column
    const natural = rows.reduce((most, row) => Math.max(most, measure(row[n] ?? '')), measure(title))
    const least = Math.min(natural, Math.max(minWidth, wholeWidth))
    return { ...column, n, width: natural, least }
  })
  const visibleColumns = width === null ? measured : fitTo(width, measured)
  const line = (cells: readonly string[]): string =>
    visibleColumns
      .map((column) => fitted(cells[column.n]!, column, measure))
      .join(GAP)
      .trimEnd()
  return [line(columns.map(({ title }) => title)), ...rows.map(line)]
}

export type ColumnOf<Row> = TableColumn & {
  /** `null` is shown as `-`. */
  cell: (row: Row) => string | null
}

/** At most as wide as the terminal. */
export async function tableText<Row>(
  { stdout }: Terminal,
  rows: readonly Row[],
  columns: readonly ColumnOf<Row>[],
): Promise<string> {
  const cells = rows.map((row) => columns.map(({ cell }) => safeText(cell(row) ?? '-')))
  return `${(await renderTable(columns, cells, stdout.isTTY ? stdout.columns || 80 : null)).join('\n')}\n`
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

/** `n`: its place in the rows. `least`: what is not cut. */
type Measured = TableColumn & { n: number; width: number; least: number }

/** Leaves columns out, then takes from the widest one, character by character. */
function fitTo(width: number, columns: readonly Measured[]): readonly Measured[] {
  const beyond = (widths: readonly number[]): number =>
    widths.reduce((sum, one) => sum + one + GAP.length, -GAP.length) - width
  const [dropped] = columns
    .filter(({ dropOrder }) => dropOrder !== undefined)
    .toSorted((a, b) => a.dropOrder! - b.dropOrder!)
  if (dropped !== undefined && beyond(columns.map(({ least }) => least)) > 0)
    return fitTo(
      width,
      columns.filter((column) => column !== dropped),
    )
  for (let excess = beyond(columns.map((column) => column.width)); excess > 0; excess--) {
    const cuttable = columns.filter((column) => column.width > column.least)
    if (cuttable.length === 0) break
    cuttable.reduce((widest, column) => (column.width > widest.width ? column : widest)).width--
  }
  return columns
}

function fitted(text: string, { width, align, keepsEnd }: Measured, measure: Measure): string {
  const cell =
    measure(text) <= width ? text : keepsEnd ? cutStart(text, width, measure) : cut(text, width, measure)
  const padding = ' '.repeat(Math.max(0, width - measure(cell)))
  return align === 'right' ? padding + cell : cell + padding
}

function cut(text: string, width: number, measure: Measure): string {
  let start = ''
  for (const segment of segmentsOf(text)) {
    if (measure(start + segment) > width - 1) break
    start += segment
  }
  return `${start.replace(/…$/, '')}…`
}

function cutStart(text: string, width: number, measure: Measure): string {
  let end = ''
  for (const segment of segmentsOf(text).reverse()) {
    if (measure(segment + end) > width - 1) break
    end = segment + end
  }
  return `…${end}`
}

const segmentsOf = (text: string): string[] =>
  Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment)
