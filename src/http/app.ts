import type { IncomingMessage } from 'node:http'
import Koa from 'koa'
import type { Caller } from '../domain/api-key.ts'
import { type Reader, SEES_ALL } from '../domain/reader.ts'
import type { Tracer } from '../domain/trace.ts'
import type { Logger } from '../log.ts'
import type { Audit } from '../registry/audit.ts'
import { countRequests, type InFlightRequests, type RequestMetrics } from './metrics/request-metrics.ts'
import { compressBodies } from './middleware/answer/compression.ts'
import { answerUnmodified } from './middleware/answer/etag.ts'
import { callHandler } from './middleware/answer/handler.ts'
import { respond } from './middleware/answer/respond.ts'
import { cacheResponses } from './middleware/answer/response-cache.ts'
import { requireRoom, UnsentBytes } from './middleware/answer/unsent-bytes.ts'
import { readBody } from './middleware/body.ts'
import { answerErrors } from './middleware/errors.ts'
import { type Authorize, checkGate } from './middleware/gate.ts'
import { setHeaders } from './middleware/headers.ts'
import { limitRate, type RateLimit } from './middleware/rate-limit.ts'
import { recordActs } from './middleware/record-acts.ts'
import { setRequestId } from './middleware/request-id.ts'
import { type OnAnswered, reportRequests } from './middleware/request-log.ts'
import { findRoute } from './middleware/router.ts'
import { traceRequests } from './middleware/tracing.ts'
import type { Route } from './route.ts'
import { answerSigned, type SignedLine } from './signed-line/answer-signed.ts'
import { askPlain } from './signed-line/ask-plain.ts'
import { translateAnswers } from './signed-line/translate.ts'
import { answerRecorded, beginSignedWrite, verifySigned } from './signed-line/verify-signed.ts'

type AppOptions = {
  routes: readonly Route[]
  authorize: Authorize
  /** What a caller sees. Default: all. */
  readerOf?: (caller: Caller) => Reader
  /** `null` while keys can be verified. */
  whenVerifiable?: () => Promise<unknown> | null
  rateLimit: RateLimit
  clientAddress: (request: IncomingMessage) => string
  /** For the log and the audit log; default: `clientAddress`. */
  nameClient?: (request: IncomingMessage) => string
  /** `null`, the default: requests of the signed line are refused. */
  signedLine?: SignedLine | null
  /** Of requests of the signed line. Default: `routes`. */
  signedRoutes?: readonly Route[]
  /** `null`, the default: acts are not recorded. */
  audit?: Audit | null
  metrics: RequestMetrics
  inFlight?: InFlightRequests
  tracer?: Tracer | null
  onAnswered?: OnAnswered
  log: Logger
}

/** What a request passes, from the outside in. */
export function createApp(options: AppOptions): Koa {
  const { metrics, readerOf = () => SEES_ALL, whenVerifiable = () => null } = options
  const { nameClient = options.clientAddress } = options
  const line = options.signedLine ?? null
  const app = new Koa()
  const unsent = new UnsentBytes(options.clientAddress)
  for (const middleware of [
    traceRequests(options.tracer ?? null),
    setRequestId(),
    countRequests(metrics, options.inFlight),
    reportRequests(nameClient, options.onAnswered),
    respond(unsent),
    setHeaders(),
    answerSigned(line),
    answerErrors(),
    findRoute(options.routes, options.signedRoutes),
    verifySigned(line),
    checkGate(options.authorize, readerOf, whenVerifiable),
    beginSignedWrite(line),
    answerRecorded(),
    limitRate(options.rateLimit),
    recordActs(options.audit ?? null, nameClient),
    askPlain(line),
    readBody(),
    requireRoom(unsent),
    compressBodies(),
    answerUnmodified(),
    cacheResponses(metrics.countLookup),
    translateAnswers(line),
    callHandler(options.clientAddress),
  ])
    app.use(middleware)
  app.on('error', (cause) => options.log.debug({ err: cause }, 'connection closed early'))
  return app
}
