import stringWidth from 'string-width'

export type TableColumn = {
  title: string
  align?: 'left' | 'right'
  /** Default 4. */
  minWidth?: number
}

const GAP = '  '

/** Cuts the widest columns to fit `width`. Cells must hold no control characters. */
export function renderTable(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  width: number | null,
): string[] {
  const widths = columns.map(({ title }, n) =>
    Math.max(...[title, ...rows.map((row) => row[n] ?? '')].map(measure)),
  )
  if (width !== null) shrink(widths, columns, width)
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, n) => fitted(cell, widths[n]!, columns[n]?.align ?? 'left'))
      .join(GAP)
      .trimEnd()
  return [line(columns.map(({ title }) => title)), ...rows.map(line)]
}

/** Most text is plain, and `stringWidth` is slow. */
const measure = (text: string): number => (/^[ -~]*$/.test(text) ? text.length : stringWidth(text))

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

function fitted(text: string, width: number, align: 'left' | 'right'): string {
  const shown = measure(text) > width ? cut(text, width) : text
  const padding = ' '.repeat(Math.max(0, width - measure(shown)))
  return align === 'right' ? padding + shown : shown + padding
}

function cut(text: string, width: number): string {
  let start = ''
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (measure(start + segment) > width - 1) break
    start += segment
  }
  return `${start}…`
}
