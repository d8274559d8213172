import type { Dispatcher } from 'undici'
import { statusError } from './errors.ts'
import type { LinesOptions } from './lines.ts'
import { type Endpoint, type HttpResponse, loopHeaders, type Purpose, requestsTo } from './request.ts'

type GetOptions = {
  maxBytes: number
  headers?: Readonly<Record<string, string>>
  /** Besides 200; default none. */
  expected?: readonly number[]
  lines?: LinesOptions
  /** Default `detail`. */
  purpose?: Purpose
  timeoutMs?: number
}

/** For what an upstream answers besides pages of listings. Rejects with a `SourceError`. */
export type Get = (path: string, options: GetOptions) => Promise<HttpResponse>

export function createGet(upstream: Endpoint, dispatcher: Dispatcher, via: readonly string[] = []): Get {
  const send = requestsTo(upstream, dispatcher)
  const loop = loopHeaders(via)
  return (path, { expected = [], purpose = 'detail', headers, ...options }) =>
    send({ ...options, path, purpose, headers: { ...loop, ...headers } }, (response) => {
      if (response.status === 200 || expected.includes(response.status)) return response
      throw statusError(`${upstream.name}: ${path}`, response)
    })
}
