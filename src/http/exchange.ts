import type { Readable } from 'node:stream'
import type { Reader } from '../domain/api-key.ts'
import type { JsonValue } from '../domain/json.ts'
import type { Trace } from '../domain/trace.ts'

/** Which credential a route asks for: docs/protocol.md#2-api-keys. */
export type Gate = 'none' | 'read' | 'write' | 'admin'

/** One request as a handler sees it, already past its gate. */
export type Exchange = {
  /** As it was asked for, with a slash at its end where there was one. */
  path: string
  params: Readonly<Record<string, string>>
  /** Undecoded, without the `?`. */
  queryString: string
  /** Decoded; of a repeated name the last value. */
  query: ReadonlyMap<string, string>
  /** The first header line of that lower-case name. */
  header: (name: string) => string | undefined
  /** All lines of a list header of that lower-case name, with commas between them (RFC 9110 section 5.3). */
  listHeader: (name: string) => string | undefined
  reader: Reader
  /** The JSON that came with it; `null` where the body was empty. */
  body: { bytes: Buffer; value: JsonValue } | null
  /** Aborts when the caller hangs up. */
  signal: AbortSignal
  /** Where it stands in a trace, as its caller says. */
  trace: Trace | undefined
}

/** What a handler answers. JSON unless `type` says otherwise. */
export type Answer = {
  /** Default 200. */
  status?: number
  type?: string
  body?: string | Buffer | Readable
  headers?: Readonly<Record<string, string>>
  /** Where given: the answer may be given again, as it is, to the same question for as long as this holds. */
  isCurrent?: () => boolean
}

export type Handler = (exchange: Exchange) => Answer | Promise<Answer>

export const json = (value: unknown, status = 200): Answer => ({ status, body: JSON.stringify(value) })
