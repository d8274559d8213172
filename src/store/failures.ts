import { EntrepotError } from '../errors.ts'

/** Seconds after which a caller may try again: `Retry-After` (RFC 9110 section 10.2.3). */
const RETRY_AFTER = '5'

/** The store did not do it. The replay guard makes it safe to send the very same request again. */
export const storeUnavailable = (reason: string, cause?: unknown): EntrepotError =>
  new EntrepotError(
    'unavailable',
    `The store cannot be used right now (${reason}). Nothing was acknowledged; the very same request may be sent ` +
      'again later.',
    { cause, headers: { 'Retry-After': RETRY_AFTER } },
  )

export const storeClosed = (): EntrepotError => storeUnavailable('this process is stopping')
