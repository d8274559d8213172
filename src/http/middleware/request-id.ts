import { randomId } from '../../domain/random-id.ts'
import type { Middleware } from '../request-state.ts'

/** Repeats the caller's `X-Request-Id` if harmless, so that calls can be followed across services. */
export function setRequestId(): Middleware {
  return ({ req, state }, next) => {
    const sent = String(req.headers['x-request-id'] ?? '')
    state.headers = { 'X-Request-Id': HARMLESS.test(sent) ? sent : randomId() }
    return next()
  }
}

const HARMLESS = /^[\w.-]{1,64}$/
