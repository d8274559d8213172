import { EntrepotError } from '../errors.ts'

/** Seconds; `Retry-After` (RFC 9110 section 10.2.3). */
const RETRY_AFTER = '5'

/** The replay guard makes it safe to send the same request again. */
export class StoreUnavailable extends EntrepotError {
  /** A few words without paths and values. */
  readonly reason: string

  constructor(reason: string, cause?: unknown) {
    const detail =
      `The store cannot be used right now (${reason}). Nothing was acknowledged; the very same request may be sent ` +
      'again later.'
    super('unavailable', detail, { cause, headers: { 'Retry-After': RETRY_AFTER } })
    this.reason = reason
  }
}

export const storeUnavailable = (reason: string, cause?: unknown): StoreUnavailable =>
  new StoreUnavailable(reason, cause)

export const storeClosed = (): StoreUnavailable => storeUnavailable('this process is stopping')
