import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { EntrepotError } from '../../../errors.ts'
import type { Middleware } from '../../request-state.ts'
import type { HandlerResponse } from '../../route.ts'

const MIB = 1024 * 1024
/** Of all clients. */
const MAX_UNSENT_BYTES = 128 * MIB
/** Of one client address. The longest page has 13 MB. */
const MAX_UNSENT_OF_ADDRESS = 16 * MIB
/** Smaller answers, such as those of health checks, take little beside their connection. */
const MIN_COUNTED_BYTES = 4096
/** What a stream holds while its reader pauses: a chunk on each side of it. */
const STREAM_BYTES = 128 * 1024
const RETRY_SECONDS = '5'

/** Refuses an answer while too many bytes wait for readers. */
export function requireRoom(unsent: UnsentBytes): Middleware {
  return async ({ req, state }, next) => {
    await next()
    const { body } = state.response
    const refusal = unsent.refusal(req, heldBytes(state.response))
    if (refusal === null) return
    if (body instanceof Readable) body.destroy()
    throw refusal
  }
}

/** What an answer holds until its reader has taken it. Streams of changes are idle, and have a limit of their own: `watchers.ts`. */
export function heldBytes({ body = '', isWatch = false }: HandlerResponse): number {
  if (body instanceof Readable) return isWatch ? 0 : STREAM_BYTES
  return Buffer.byteLength(body)
}

/**
 * Counts the bytes of answers that wait until their readers take them. Both limits are exceeded by one answer at most:
 * docs/decisions/0026-a-request-passes-one-onion.md.
 */
export class UnsentBytes {
  readonly #addressOf: (request: IncomingMessage) => string
  readonly #byAddress = new Map<string, number>()
  #total = 0

  constructor(addressOf: (request: IncomingMessage) => string) {
    this.#addressOf = addressOf
  }

  /** Why no answer of that many bytes may wait now; `null` if it may. */
  refusal(request: IncomingMessage, bytes: number): EntrepotError | null {
    if (this.#total < MAX_UNSENT_OF_ADDRESS || bytes < MIN_COUNTED_BYTES) return null
    if (this.#total >= MAX_UNSENT_BYTES)
      return refused(`Answers of ${MAX_UNSENT_BYTES / MIB} MiB wait for readers that do not take them`)
    const ofAddress = this.#byAddress.get(this.#addressOf(request)) ?? 0
    if (ofAddress < MAX_UNSENT_OF_ADDRESS) return null
    return refused(`Answers of ${MAX_UNSENT_OF_ADDRESS / MIB} MiB wait for readers at your address`)
  }

  /** Counts that many bytes until the response is sent or its connection closes. */
  count(request: IncomingMessage, response: ServerResponse, bytes: number): void {
    if (bytes < MIN_COUNTED_BYTES || response.destroyed) return
    const address = this.#addressOf(request)
    this.#add(address, bytes)
    response.once('close', () => this.#add(address, -bytes))
  }

  #add(address: string, bytes: number): void {
    this.#total += bytes
    const ofAddress = (this.#byAddress.get(address) ?? 0) + bytes
    if (ofAddress === 0) this.#byAddress.delete(address)
    else this.#byAddress.set(address, ofAddress)
  }
}

const refused = (reason: string): EntrepotError =>
  new EntrepotError('unavailable', `${reason}: read them to their end, and try again`, {
    headers: { 'Retry-After': RETRY_SECONDS },
    limit: 'unsent_bytes',
  })
