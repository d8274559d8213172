import { SourceError } from '../../domain/source/source-error.ts'

/** Takes the lines of a 200 body without their ends; `timeoutMs` then bounds each silence. */
export type LinesOptions = {
  /** Of the body; another one is `bad_envelope`. */
  mediaType: string
  maxLineBytes: number
  /** Of the whole response. */
  maxStreamMs: number
  /** Throws to end the response with that error. */
  onLine: (line: Buffer) => void
  /** Default: at most `MAX_EMPTY_LINES` are passed over. */
  onEmptyLine?: () => void
  /** Ends the response with its reason. */
  signal?: AbortSignal
}

/** Takes a body; `null` is its end. May throw. */
export type Sink = (chunk: Buffer | null) => void

/** Some servers send them to keep a connection open. */
const MAX_EMPTY_LINES = 1000
const LINE_FEED = 0x0a

export function splitLines(upstream: string, { maxLineBytes, onLine, onEmptyLine }: LinesOptions): Sink {
  let parts: Buffer[] = []
  let size = 0
  let emptyLines = 0
  return (chunk) => {
    if (chunk === null) return endLine()
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      add(chunk.subarray(start, end))
      endLine()
      start = end + 1
    }
    add(chunk.subarray(start))
  }

  function add(part: Buffer): void {
    if (part.length === 0) return
    size += part.length
    if (size > maxLineBytes)
      throw new SourceError('too_large', `${upstream}: a line is longer than ${maxLineBytes} bytes`)
    parts.push(part)
  }

  function endLine(): void {
    if (size > 0) onLine(join(parts))
    else if (onEmptyLine !== undefined) onEmptyLine()
    else if (++emptyLines > MAX_EMPTY_LINES)
      throw new SourceError('bad_envelope', `${upstream}: sends more than ${MAX_EMPTY_LINES} empty lines`)
    parts = []
    size = 0
  }
}

/** Not pooled: a cached page would keep the whole slab alive. */
export function join(chunks: readonly Buffer[]): Buffer {
  const size = chunks.reduce((sum, { length }) => sum + length, 0)
  const whole = Buffer.allocUnsafeSlow(size)
  let end = 0
  for (const chunk of chunks) end += chunk.copy(whole, end)
  return whole
}
