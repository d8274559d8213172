import { RequestError, readProblem } from './request-error.ts'

type RequestOptions = {
  /** Relative to the page: no other gateway is requested. */
  address: string
  key: string | null
  signal: AbortSignal
  method?: 'GET' | 'POST' | 'DELETE'
  body?: unknown
  bypassesCache?: boolean
}

/**
 * Bytes: numbers may be too large for JavaScript.
 * @throws RequestError for a problem or without an answer; a `DOMException` named `AbortError`
 */
export async function request({
  address,
  key,
  signal,
  method = 'GET',
  body,
  bypassesCache = false,
}: RequestOptions): Promise<Uint8Array> {
  const response = await send(new URL(address, document.baseURI), {
    method,
    signal,
    headers: {
      Accept: 'application/json',
      ...(key !== null && { Authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    cache: bypassesCache ? 'no-cache' : 'default',
    credentials: 'omit',
    redirect: 'error',
  })
  const bytes = new Uint8Array(await response.arrayBuffer())
  if (response.ok) return bytes
  throw new RequestError(response.status, readProblem(bytes))
}

async function send(url: URL, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init)
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause
    throw new RequestError(0, { detail: 'The gateway could not be reached.', sources: [] }, { cause })
  }
}

/** Header values take only printable ASCII (Fetch standard, header value). */
export const isSendableKey = (key: string): boolean => /^[\x21-\x7e]{1,4096}$/.test(key)
