import type { Readable } from 'node:stream'
import type { z } from 'zod'
import type { Caller } from '../domain/api-key.ts'
import type { Act } from '../domain/audit.ts'
import type { Reader } from '../domain/reader.ts'
import type { Trace } from '../domain/trace.ts'
import { EntrepotError } from '../errors.ts'
import type { JsonValue } from '../json/value.ts'
import type { SignedWriter } from '../registry/write/signed-write.ts'
import type { SignedRequest } from '../signing/exchange.ts'

export type Route = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** `:name` is a parameter, `*name` one that may hold slashes. */
  path: string
  gate: Gate
  /** What is recorded of its requests: of every write. */
  act?: Act
  handle: Handler
  summary: string
  description?: string
  parameters?: readonly RouteParameter[]
  body?: z.ZodType
  responses: Readonly<Record<number, ResponseShape>>
  /** Statuses of problems, without those of gate and body. */
  problems?: readonly number[]
  isUnlisted?: boolean
}

export type ResponseShape = {
  description: string
  schema?: z.ZodType
  /** Default `application/json`. */
  type?: string
  /** Is also sent as NDJSON, if that is accepted. */
  isStreamed?: boolean
  /** Another type, of text, that is sent if it is accepted. */
  alsoAs?: string
}

export type RouteParameter = {
  name: string
  in: 'path' | 'query' | 'header'
  description: string
  /** Path parameters always are. */
  required?: true
  /** JSON Schema 2020-12. */
  schema: Readonly<Record<string, unknown>>
}

export type IntegerParameter = RouteParameter & { schema: { type: 'integer' } & IntegerBounds }

type IntegerBounds = { minimum?: number; maximum?: number; default?: number }

/** The required credential: docs/protocol.md#2-api-keys. */
export type Gate = 'none' | 'read' | 'write' | 'metrics' | 'admin'

/** Decoded; the last value of a repeated name. */
export type QueryTexts = Readonly<Record<string, string | undefined>>

export type RequestContext = {
  /** As sent, a trailing slash included. */
  path: string
  params: Readonly<Record<string, string>>
  /** Undecoded, without the `?`. */
  queryString: string
  query: QueryTexts
  /** The first line of a header, by its lower-case name. */
  header: (name: string) => string | undefined
  /** All lines of a list header, joined by commas (RFC 9110 section 5.3). */
  listHeader: (name: string) => string | undefined
  caller: Caller
  /** Address of the client. */
  client: string
  /** What the caller sees. */
  reader: Reader
  body: { bytes: Buffer; value: JsonValue } | null
  /** Of the signed line. */
  signed: SignedCall | undefined
  signal: AbortSignal
  trace: Trace | undefined
  /**
   * Adds members to the request's line in the log, whatever is answered. No secrets. `subject`: what the audit log says that it was
   * about, by default its parameters in the path.
   */
  note: (members: LogMembers) => void
}

/** A request of the signed line that its principal has signed. */
export type SignedCall = {
  request: SignedRequest
  /** Of a write that was begun. */
  writer: SignedWriter | null
}

export function writerOf(signed: SignedCall | undefined): SignedWriter {
  if (signed?.writer) return signed.writer
  throw new EntrepotError('internal', 'A write of the signed line was not begun')
}

export type LogMembers = Readonly<Record<string, string | number | object>>

/** JSON unless `type` is given. A 200 with an `ETag` becomes a 304 where `If-None-Match` names it. */
export type HandlerResponse = {
  /** Default 200. */
  status?: number
  type?: string
  body?: string | Buffer | Readable
  /** The body as gzip, where it was compressed before; `null` if that failed. */
  gzipped?: Promise<Buffer | null>
  headers?: Readonly<Record<string, string>>
  /** The hash of its canonical JSON, where the body is made for the signed line. */
  content?: string | undefined
  /** It waits for changes: its duration is no latency. */
  isWatch?: boolean
  /** The response may be served again to the same request while this is true. */
  isCurrent?: (() => boolean) | undefined
}

type Handler = (request: RequestContext) => HandlerResponse | Promise<HandlerResponse>

/** For what is of this moment, or secret. */
export const NO_STORE = { 'Cache-Control': 'no-store' }

export const json = (value: unknown, status = 200): HandlerResponse => ({
  status,
  body: JSON.stringify(value),
})

export const parameter = (
  place: RouteParameter['in'],
  name: string,
  description: string,
  schema: RouteParameter['schema'] = { type: 'string' },
): RouteParameter => ({ name, in: place, description, schema })

export const integerParameter = (
  place: RouteParameter['in'],
  name: string,
  description: string,
  bounds: IntegerBounds = {},
): IntegerParameter => ({ name, in: place, description, schema: { type: 'integer', ...bounds } })
