import { RequestError, readProblem } from './request-error.ts'

type RequestOptions = {
  /** Relative to the page: no other gateway is requested. */
  address: string
  key: string | null
  signal: AbortSignal
  method?: 'GET' | 'POST' | 'DELETE'
  body?: unknown
}

/** Above the longest `timeout_ms` of a query. */
const TIMEOUT_MS = 15_000

/**
 * Bytes: numbers may be too large for JavaScript. Nothing is kept in the browser's cache: an answer that is confirmed by
 * 304 would bring back its old ages.
 * @throws RequestError for a problem or without an answer; a `DOMException` named `AbortError`
 */
export async function request({
  address,
  key,
  signal,
  method = 'GET',
  body,
}: RequestOptions): Promise<Uint8Array> {
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(), TIMEOUT_MS)
  try {
    const response = await fetch(new URL(address, document.baseURI), {
      method,
      signal: AbortSignal.any([signal, timeout.signal]),
      headers: {
        Accept: 'application/json',
        // Without it `no-store` sends `no-cache`, for which a gateway passes its own caches.
        'Cache-Control': 'max-age=0',
        ...(key !== null && { Authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
    })
    const bytes = new Uint8Array(await response.arrayBuffer())
    if (response.ok) return bytes
    throw new RequestError(response.status, {
      ...readProblem(bytes),
      retryAfter: Number(response.headers.get('Retry-After') ?? Number.NaN),
    })
  } catch (cause) {
    if (cause instanceof RequestError || signal.aborted) throw cause
    const detail = timeout.signal.aborted
      ? `No answer within ${TIMEOUT_MS / 1000} s.`
      : 'The gateway could not be reached.'
    throw new RequestError(0, { detail, sources: [] }, { cause })
  } finally {
    clearTimeout(timer)
  }
}

/** Header values take only printable ASCII (Fetch standard, header value). */
export const isSendableKey = (key: string): boolean => /^[\x21-\x7e]{1,4096}$/.test(key)
