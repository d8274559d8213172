import type { IncomingMessage } from 'node:http'
import { decodeQuery } from '../../../filter-spec/parameters.ts'
import { lazy } from '../../lazy.ts'
import type { KoaContext, Middleware } from '../../request-state.ts'
import type { RequestContext } from '../../route.ts'
import { CLIENT_CLOSED } from '../errors.ts'

/** Calls the handler of the route. */
export function callHandler(clientAddress: (request: IncomingMessage) => string): Middleware {
  return async (context) => {
    const { state } = context
    state.response = await state.route.handle(requestOf(context, clientAddress))
  }
}

function requestOf(context: KoaContext, clientAddress: (request: IncomingMessage) => string): RequestContext {
  const { req, state } = context
  const signal = lazy(() => closeSignal(context))
  return {
    params: context.params as Record<string, string>,
    path: context.path,
    queryString: context.querystring,
    get query() {
      return Object.fromEntries(decodeQuery(context.querystring))
    },
    header: (name) => (req.headers[name] === undefined ? undefined : req.headersDistinct[name]?.[0]),
    listHeader: (name) => req.headersDistinct[name]?.join(', '),
    caller: state.caller,
    get client() {
      return clientAddress(req)
    },
    reader: state.reader,
    body: state.body ?? null,
    signed: state.signed,
    get signal() {
      return signal()
    },
    trace: state.trace,
    note: (members) => {
      state.notes = { ...state.notes, ...members }
    },
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
