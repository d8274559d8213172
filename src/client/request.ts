import { MAX_TIMER_MS } from '../domain/max-timer.ts'
import { parseRetryAfter } from '../domain/retry-after.ts'
import { ProblemError, readProblem } from './problem-error.ts'

export type Connection = {
  /** Ends with a slash. */
  base: URL
  key: string | null
  fetch: typeof fetch
  deadlineMs: number
  /** `null` for the plain line. */
  line: Line | null
  /** Signs writes; `null` on the signed line, where each request is signed. */
  account: Signer | null
}

/** Puts a request in the form of a line, and says what is wrong with its answer; `null` for a good one. */
export type Line = (request: { method: string; path: string; body: string | undefined }) => Promise<{
  path: string
  headers: Readonly<Record<string, string>>
  faultOf: (answer: { status: number; headers: Headers; body: Uint8Array }) => string | null
}>

type Identity = { scheme: 'eip191' | 'ed25519'; identifier: string }

/** Who may sign the answers of a Registry of the signed line: one key, or two while it changes its key. */
export type Pin = { authority?: string; identities: readonly Identity[] }

/** `createSigner()` of `entrepot/signer` gives one. */
export type RequestSigner = {
  principal: Identity
  /** @throws TypeError for a malformed pin */
  line: (pin: Pin) => Line
}

/** A viem account is one. */
export type Signer = {
  address: string
  /** As an EIP-191 personal message. */
  signMessage: (parameters: { message: string }) => Promise<string>
}

export type ConnectOptions = {
  /** Of a gateway or a Registry; may have a path. */
  url: string | URL
  apiKey?: string | null | undefined
  fetch?: typeof fetch | undefined
  /** Milliseconds for each request, its answer included. Default: 15 s, above the longest `timeout_ms` of a query. */
  deadlineMs?: number | undefined
  /** Of a Registry of the signed line, with `signer`: no answer of another key is used. */
  pin?: Pin | undefined
  /** Signs every request on the signed line. */
  signer?: RequestSigner | undefined
  /** Signs writes on the plain line: any `LocalAccount` of viem. */
  account?: Signer | null | undefined
}

/** @throws TypeError for a URL or a key that cannot be sent; its message repeats neither */
export function connect({
  url,
  apiKey,
  fetch = globalThis.fetch,
  deadlineMs = 15_000,
  pin,
  signer,
  account = null,
}: ConnectOptions): Connection {
  const base = URL.canParse(url) ? new URL(url) : null
  if (base === null || !/^https?:$/.test(base.protocol) || base.username !== '' || base.password !== '')
    throw new TypeError('url: expected an http or https URL without credentials')
  if (apiKey != null && !isSendableKey(apiKey))
    throw new TypeError('apiKey: has spaces or special characters')
  if ((pin === undefined) !== (signer === undefined))
    throw new TypeError('pin and signer: give both, or neither')
  base.pathname = base.pathname.replace(/\/*$/, '/')
  const line = signer && pin ? signer.line(pin) : null
  return { base, key: apiKey ?? null, fetch, deadlineMs, line, account: line ? null : account }
}

/** Header values take only printable ASCII (Fetch standard, header value). */
export const isSendableKey = (key: string): boolean => /^[\x21-\x7e]{1,4096}$/.test(key)

export type CallOptions = {
  signal?: AbortSignal | undefined
  /** Milliseconds for each request, its answer included; default: that of the client. */
  deadlineMs?: number | undefined
}

export type RequestOptions = CallOptions & {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** JSON text. */
  body?: string | undefined
  /** How long the service may wait for something to answer (`Prefer: wait`, RFC 7240). Default: 0. */
  waitSeconds?: number
}

export type RawAnswer = {
  status: number
  body: Uint8Array
  /** `Changes-Position` of a reading of listings: where following it begins. */
  changesPosition?: string | null
}

/**
 * Bytes: numbers may be too large for JavaScript. Nothing is kept in the browser's cache: an answer that is confirmed by
 * 304 would bring back its old ages.
 * @param path relative to the base URL
 * @throws ProblemError for a problem or without an answer; the reason of `signal`
 */
export async function sendRequest(
  { base, key, fetch, deadlineMs: defaultMs, line }: Connection,
  path: string,
  { method = 'GET', body, waitSeconds = 0, signal, deadlineMs = defaultMs }: RequestOptions,
): Promise<RawAnswer> {
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(), Math.min(deadlineMs, MAX_TIMER_MS))
  try {
    const signed = line && (await line({ method, path, body }))
    const response = await fetch(new URL(signed?.path ?? path, base), {
      method,
      signal: signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]),
      headers: {
        Accept: 'application/json',
        // Without it `no-store` sends `no-cache`, for which a gateway passes its own caches.
        'Cache-Control': 'max-age=0',
        ...(key !== null && { Authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...(waitSeconds > 0 && { Prefer: `wait=${waitSeconds}` }),
        ...signed?.headers,
      },
      ...(body !== undefined && { body }),
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
    })
    const bytes = await readBody(response)
    const fault = signed?.faultOf({ status: response.status, headers: response.headers, body: bytes }) ?? null
    if (fault !== null) throw new ProblemError(0, { detail: `No answer of a pinned key: ${fault}.` })
    const changesPosition = response.headers.get('Changes-Position')
    if (response.ok) return { status: response.status, body: bytes, changesPosition }
    const retryAfterMs = parseRetryAfter(response.headers.get('Retry-After'), Date.now())
    throw new ProblemError(response.status, {
      ...readProblem(bytes),
      retryAfter: retryAfterMs === null ? null : Math.ceil(retryAfterMs / 1000),
    })
  } catch (cause) {
    if (cause instanceof ProblemError) throw cause
    signal?.throwIfAborted()
    const detail = timeout.signal.aborted
      ? `No answer within ${deadlineMs / 1000} s.`
      : 'The gateway could not be reached.'
    throw new ProblemError(0, { detail }, { cause })
  } finally {
    clearTimeout(timer)
  }
}

/** A page of 200 listings of 64 KiB, and its envelope. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024

/** @throws ProblemError for a body beyond `MAX_ANSWER_BYTES` */
async function readBody({ status, body }: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  const reader = body?.getReader()
  for (let read = await reader?.read(); read?.value !== undefined; read = await reader?.read()) {
    size += read.value.length
    if (size > MAX_ANSWER_BYTES) {
      await reader?.cancel()
      throw new ProblemError(status, { detail: `The answer is longer than ${MAX_ANSWER_BYTES} bytes.` })
    }
    chunks.push(read.value)
  }
  const whole = new Uint8Array(size)
  for (const chunk of chunks.reverse()) {
    size -= chunk.length
    whole.set(chunk, size)
  }
  return whole
}
