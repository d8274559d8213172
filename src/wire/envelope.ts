export const ENVELOPE_START = Buffer.from('{"items":[')

/** `more`: further members, after a comma. */
export function envelopeEnd(count: number, total: number, more = ''): string {
  return `],"count":${count},"total_after_filter":${total}${more}}`
}

/** A listing envelope around rows of JSON. */
export function renderEnvelope(rows: readonly Uint8Array[], total: number, more = ''): Buffer {
  const items = rows.flatMap((row, n) => (n === 0 ? [row] : [SEPARATOR, row]))
  return Buffer.concat([ENVELOPE_START, ...items, Buffer.from(envelopeEnd(rows.length, total, more))])
}

const SEPARATOR = Buffer.from(',')
