import type { Dispatcher } from 'undici'
import { statusError } from './errors.ts'
import type { LinesOptions } from './lines.ts'
import { type Endpoint, type HttpResponse, loopHeaders, requestsTo } from './request.ts'

type GetOptions = {
  maxBytes: number
  headers?: Readonly<Record<string, string>>
  /** Besides 200; default none. */
  expected?: readonly number[]
  lines?: LinesOptions
}

/** For what an upstream answers besides pages of listings. Rejects with a `SourceError`. */
export type Get = (path: string, options: GetOptions) => Promise<HttpResponse>

export function createGet(upstream: Endpoint, dispatcher: Dispatcher, via: readonly string[] = []): Get {
  const send = requestsTo(upstream, dispatcher)
  const loop = loopHeaders(via)
  return (path, { maxBytes, headers, expected = [], lines }) =>
    send({ path, purpose: 'detail', maxBytes, headers: { ...loop, ...headers }, lines }, (response) => {
      if (response.status === 200 || expected.includes(response.status)) return response
      throw statusError(`${upstream.name}: ${path}`, response)
    })
}
