import { readProblem } from './problem.ts'
import { RequestFault } from './request-fault.ts'

export type Question = {
  /** Relative to the page: no other gateway is requested. */
  address: string
  key: string | null
  signal: AbortSignal
  method?: 'GET' | 'POST' | 'DELETE'
  body?: unknown
  /** Bypasses the browser's cache. */
  isAnew?: boolean
}

/**
 * Bytes: numbers may be too large for JavaScript.
 * @throws RequestFault for a problem or without an answer; a `DOMException` named `AbortError`
 */
export async function ask({
  address,
  key,
  signal,
  method = 'GET',
  body,
  isAnew = false,
}: Question): Promise<Uint8Array> {
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

async function send(url: URL, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init)
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause
    throw new RequestFault(0, { detail: 'The gateway could not be reached.', sources: [] }, { cause })
  }
}

/** Header values take only printable ASCII (Fetch standard, header value). */
export const isSendableKey = (key: string): boolean => /^[\x21-\x7e]{1,4096}$/.test(key)
