import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** The caller's `X-Request-Id` if harmless, so that calls can be followed across services. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id']
  return given !== undefined && HARMLESS.test(String(given)) ? String(given) : newRequestId()
}

const HARMLESS = /^[\w.-]{1,64}$/

/** 96 random bits, cut from a batch: a UUID takes a tenth of the time of an answer from memory. */
function newRequestId(): string {
  if (next === supply.length) {
    supply = randomBytes(SUPPLY_BYTES).toString('base64url')
    next = 0
  }
  next += ID_LENGTH
  return supply.slice(next - ID_LENGTH, next)
}

const ID_LENGTH = 16
const SUPPLY_BYTES = 6144
let supply = ''
let next = 0
