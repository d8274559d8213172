import { readProblem } from './problem.ts'
import { RequestFault } from './request-fault.ts'

export type Question = {
  /** Relative to the page, whose gateway is the only one that is ever asked. */
  address: string
  /** Sent as a bearer token; `null` for none. */
  key: string | null
  signal: AbortSignal
  /** Default `GET`. */
  method?: 'GET' | 'POST' | 'DELETE'
  /** Sent as JSON. */
  body?: unknown
  /** Asks past the browser's own cache; how old an answer may be is then the gateway's to say. */
  isAnew?: boolean
}

/**
 * The bytes of a good answer: numbers in them may be larger than JavaScript's.
 * @throws RequestFault for a problem, or where no answer came; a `DOMException` named `AbortError` for an abort
 */
export const ask = async ({
  address,
  key,
  signal,
  method = 'GET',
  body,
  isAnew = false,
}: Question): Promise<Uint8Array> => {
  const response = await send(new URL(address, document.baseURI), {
    method,
    signal,
    headers: {
      Accept: 'application/json',
      ...(key === null ? {} : { Authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    cache: isAnew ? 'no-cache' : 'default',
    credentials: 'omit',
    redirect: 'error',
  })
  const bytes = new Uint8Array(await response.arrayBuffer())
  if (response.ok) return bytes
  throw new RequestFault(response.status, readProblem(bytes))
}

const send = async (url: URL, init: RequestInit): Promise<Response> => {
  try {
    return await fetch(url, init)
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause
    throw new RequestFault(0, { detail: 'The gateway could not be reached.', sources: [] }, { cause })
  }
}

/** A key goes into a header, which takes printable ASCII only (Fetch standard, header value). */
export const isSendableKey = (key: string): boolean => /^[\x21-\x7e]{1,4096}$/.test(key)
