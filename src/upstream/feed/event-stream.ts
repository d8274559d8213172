import type { LinesOptions } from '../http/lines.ts'

/** `data`: `null` of an id alone. */
export type StreamEvent = { data: Buffer | null; id: string | null }

/** Reads an event stream: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation */
export function readEvents(
  onEvent: (event: StreamEvent) => void,
): Required<Pick<LinesOptions, 'onLine' | 'onEmptyLine'>> {
  let data: Buffer | null = null
  let id: string | null = null
  const onEmptyLine = (): void => {
    if (data !== null || id !== null) onEvent({ data, id })
    data = null
    id = null
  }
  return {
    onEmptyLine,
    onLine: (line) => {
      const end = line.at(-1) === CARRIAGE_RETURN ? line.length - 1 : line.length
      const { name, value } = fieldIn(line.subarray(0, end))
      if (end === 0) onEmptyLine()
      // JSON has no line breaks here: a second line would begin another text.
      else if (name === 'data') data = value
      else if (name === 'id') id = value.toString()
    },
  }
}

const CARRIAGE_RETURN = 0x0d
const COLON = 0x3a
const SPACE = 0x20

/** Of a comment the name is empty. */
function fieldIn(line: Buffer): { name: string; value: Buffer } {
  const colon = line.indexOf(COLON)
  if (colon === -1) return { name: line.toString('latin1'), value: line.subarray(line.length) }
  const start = line[colon + 1] === SPACE ? colon + 2 : colon + 1
  return { name: line.toString('latin1', 0, colon), value: line.subarray(start) }
}
