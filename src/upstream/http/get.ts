import type { Dispatcher } from 'undici'
import { SourceError } from '../../domain/source-error.ts'
import type { UpstreamOptions } from '../../domain/upstream.ts'
import { send } from './client.ts'
import { reasonOfStatus } from './errors.ts'
import { loopHeaders, rejectKeyEcho, requestHeaders } from './headers.ts'

/** `body` is empty unless the status is 200. */
type GetResponse = { status: number; body: Buffer }

type GetOptions = {
  maxBytes: number
  headers?: Readonly<Record<string, string>>
  /** Besides 200. */
  expected?: readonly number[]
}

/** Rejects with a `SourceError`. */
export type Get = (path: string, options: GetOptions) => Promise<GetResponse>

export function createGet(upstream: UpstreamOptions, agent: Dispatcher, via: readonly string[] = []): Get {
  const { name, timeoutMs } = upstream
  const { origin, pathname } = new URL(upstream.url)
  const base = pathname.replace(/\/+$/, '')
  const common = { ...requestHeaders(upstream), ...loopHeaders(via) }
  return async (path, { maxBytes, headers, expected = [] }) => {
    const request = { origin, path: base + path, headers: { ...common, ...headers }, maxBytes, timeoutMs }
    const { status, body } = await send(agent, request, name)
    rejectKeyEcho(body, upstream.key)
    if (status === 200) return { status, body }
    if (expected.includes(status)) return { status, body: EMPTY }
    throw new SourceError(reasonOfStatus(status), `${name}: ${path} answered ${status}`)
  }
}

const EMPTY = Buffer.alloc(0)
