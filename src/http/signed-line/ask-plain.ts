import type { IncomingMessage } from 'node:http'
import { EntrepotError } from '../../errors.ts'
import { publisherOf, readPrincipal } from '../../signing/principal.ts'
import { firstLineOf, type KoaContext, type Middleware } from '../request-state.ts'
import type { SignedLine } from './answer-signed.ts'

/** Hands the question of a signed read on as one of the plain line. */
export function askPlain(line: SignedLine | null): Middleware {
  return (context, next) => {
    const { req, state } = context
    if (line === null || state.signed === undefined || req.method !== 'GET') return next()
    // The whole body is signed, as JSON, and none stands for one that the reader has.
    for (const name of ['accept', 'accept-encoding', 'if-none-match']) setHeader(req, name, undefined)
    // The first one is signed.
    setHeader(req, 'if-match', firstLineOf(req, 'if-match'))
    const problem = toPlainPublisher(context)
    return problem === null ? next() : refuse(problem, next)
  }
}

/** The etag is looked at first, and the status before what the principal is. */
async function refuse({ detail, isFirst }: Problem, next: () => Promise<unknown>): Promise<never> {
  try {
    await next()
  } catch (cause) {
    const status = cause instanceof EntrepotError ? cause.status : 500
    if (status === 412 || !isFirst) throw cause
  }
  throw new EntrepotError('bad_request', detail)
}

/** Before the two parameters that name a publisher. */
const PUBLISHER_PREFIXES = new Map([
  ['/listings', 'publisher_'],
  ['/facets', 'publisher_'],
  ['/publishers', ''],
])

/** Escapes may hide a name. */
const MAY_NAME_PUBLISHER = /publisher|scheme|identifier|[%+]/

/** `isFirst`: before the status and the filters. */
type Problem = { detail: string; isFirst: boolean }

/** Puts the principal in the parameters of the plain line, and what names one wrongly out of them. */
function toPlainPublisher(context: KoaContext): Problem | null {
  const path = context.path.replace(/(?<=.)\/$/, '')
  const prefix = PUBLISHER_PREFIXES.get(path)
  if (prefix === undefined || !MAY_NAME_PUBLISHER.test(context.querystring)) return null
  const query = new URLSearchParams(context.querystring)
  const isPlainFilter = path !== '/publishers' && query.has('publisher')
  const names = [`${prefix}scheme`, `${prefix}identifier`]
  const [scheme = null, identifier = null] = names.map((name) => query.getAll(name).at(-1))
  if (scheme === null && identifier === null && !isPlainFilter) return null
  for (const name of [...names, 'publisher']) query.delete(name)
  const principal = readPrincipal(scheme, identifier)
  if (principal !== null && path === '/publishers') {
    query.set('scheme', principal.scheme)
    query.set('identifier', principal.identifier)
  } else if (principal !== null) query.set('publisher', publisherOf(principal))
  context.querystring = query.toString()
  if ((scheme === null) !== (identifier === null))
    return { detail: `${names.join(' and ')} are required together`, isFirst: true }
  if (scheme !== null && principal === null) return { detail: 'Invalid publisher principal', isFirst: false }
  return isPlainFilter ? { detail: "unknown filter: 'publisher'", isFirst: false } : null
}

/** Node gives headers in two ways. */
function setHeader(request: IncomingMessage, name: string, value: string | undefined): void {
  const { headers } = request
  if (headers[name] === undefined) return
  if (value === undefined) {
    delete headers[name]
    delete request.headersDistinct[name]
  } else {
    headers[name] = value
    request.headersDistinct[name] = [value]
  }
}
