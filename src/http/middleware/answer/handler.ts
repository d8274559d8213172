import type { IncomingMessage } from 'node:http'
import type { Caller } from '../../../domain/api-key.ts'
import type { Reader } from '../../../domain/reader.ts'
import type { Trace } from '../../../domain/trace.ts'
import { decodeQuery } from '../../../filter-spec/parameters.ts'
import { firstLineOf, type KoaContext, type Middleware } from '../../request-state.ts'
import type { LogMembers, QueryTexts, RequestContext, SignedCall } from '../../route.ts'
import { CLIENT_CLOSED } from '../errors.ts'
import { CallerTurns } from './caller-turns.ts'

/** Calls the handler of the route: of a question, in the turn of its caller. */
export function callHandler(clientAddress: (request: IncomingMessage) => string): Middleware {
  const turns = new CallerTurns()
  return async (context) => {
    const { state, req } = context
    const { caller, route } = state
    if (route.gate === 'read') {
      const turn = turns.next(() =>
        caller.kind === 'key' ? `key:${caller.key.id}` : `address:${clientAddress(req)}`,
      )
      if (turn !== null) await turn
    }
    state.response = await state.route.handle(new HandledRequest(context, clientAddress))
  }
}

/**
 * A class, since V8 makes a hidden class of its own for each object literal with a getter, which keeps the request until the
 * next full collection of garbage.
 */
class HandledRequest implements RequestContext {
  readonly params: Readonly<Record<string, string>>
  readonly path: string
  readonly queryString: string
  readonly caller: Caller
  readonly reader: Reader
  readonly body: RequestContext['body']
  readonly signed: SignedCall | undefined
  readonly trace: Trace | undefined
  readonly #context: KoaContext
  readonly #clientAddress: (request: IncomingMessage) => string
  #signal: AbortSignal | undefined

  constructor(context: KoaContext, clientAddress: (request: IncomingMessage) => string) {
    const { state } = context
    this.params = context.params as Record<string, string>
    this.path = context.path
    this.queryString = context.querystring
    this.caller = state.caller
    this.reader = state.reader
    this.body = state.body ?? null
    this.signed = state.signed
    this.trace = state.trace
    this.#context = context
    this.#clientAddress = clientAddress
  }

  get query(): QueryTexts {
    return Object.fromEntries(decodeQuery(this.queryString))
  }

  get client(): string {
    return this.#clientAddress(this.#context.req)
  }

  get signal(): AbortSignal {
    this.#signal ??= closeSignal(this.#context)
    return this.#signal
  }

  readonly header = (name: string): string | undefined => firstLineOf(this.#context.req, name)

  readonly listHeader = (name: string): string | undefined => {
    const { req } = this.#context
    return req.headers[name] === undefined ? undefined : req.headersDistinct[name]?.join(', ')
  }

  readonly note = (members: LogMembers): void => {
    const { state } = this.#context
    state.notes = { ...state.notes, ...members }
  }
}

function closeSignal({ res }: KoaContext): AbortSignal {
  const controller = new AbortController()
  const abort = (): void => controller.abort(CLIENT_CLOSED)
  if (res.destroyed) abort()
  else
    res.once('close', () => {
      if (!res.writableFinished) abort()
    })
  return controller.signal
}
