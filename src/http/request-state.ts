import type { IncomingMessage } from 'node:http'
import type Koa from 'koa'
import type { Caller } from '../domain/api-key.ts'
import type { Reader } from '../domain/reader.ts'
import type { Trace } from '../domain/trace.ts'
import type { EntrepotError } from '../errors.ts'
import type { Operation } from '../signing/operations.ts'
import type { HandlerResponse, LogMembers, RequestContext, Route, SignedCall } from './route.ts'

/** What a middleware adds to a request for the others, since Koa passes no parameters between them. */
type RequestState = {
  /** Of every answer to the request, problems included. */
  headers: Readonly<Record<string, string>>
  /** Set by `traceRequests`. */
  trace: Trace | undefined
  /** Set by `answerErrors`: why the answer is a problem. */
  problem: EntrepotError | undefined
  /** Added by handlers, for the log. */
  notes: LogMembers | undefined
  /** Set by `answerSigned`: what a request of the signed line is about. */
  question: Operation | undefined
  /** Set by `verifySigned`: who has signed it. Without it an answer is not signed. */
  signed: SignedCall | undefined
  /** Set by `verifySigned`: the answer of an earlier try. */
  recorded: { status: number; body: string } | undefined
  /** Set by `findRoute`. */
  route: Route
  /** Set by `checkGate`. */
  caller: Caller
  /** Set by `checkGate`: what the caller sees. */
  reader: Reader
  /** Set by `readBody`, or before by `verifySigned`. */
  body: RequestContext['body'] | undefined
  /** Set by `callHandler`, `cacheResponses` or `answerErrors`, and replaced on the way out. */
  response: HandlerResponse
}

export type Middleware = Koa.Middleware<RequestState>
export type KoaContext = Koa.ParameterizedContext<RequestState>

/** The first line of a header, by its lower-case name. To ask Node for the lines makes those of all headers. */
export const firstLineOf = (request: IncomingMessage, name: string): string | undefined =>
  request.headers[name] === undefined ? undefined : request.headersDistinct[name]?.[0]
