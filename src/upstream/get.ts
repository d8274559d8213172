import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { untilAborted, withDeadline } from '../domain/deadline.ts'
import { SourceError } from '../domain/source-error.ts'
import type { UpstreamOptions } from '../domain/upstream.ts'
import { hopHeaders } from './hop-headers.ts'
import { withoutOwnKey } from './own-key.ts'
import { discardBody, readBody } from './read-body.ts'
import { requestHeaders } from './request-headers.ts'
import { reasonOfStatus, toSourceError } from './source-reason.ts'

/** `body` is `null` for an expected answer other than 200, whose body nobody reads. */
export type Reply = { status: number; headers: IncomingHttpHeaders; body: Buffer | null }

export type GetOptions = {
  /** Most bytes of the body, after decompression. */
  limit: number
  headers?: Readonly<Record<string, string>>
  /** Statuses that are answers too. Default: 200 alone. */
  expected?: readonly number[]
}

/** One `GET` of a path below an upstream's base URL. Every failure is a `SourceError`. */
export type Get = (path: string, options: GetOptions) => Promise<Reply>

/**
 * The upstream's bearer key goes along; headers and body have to come within `timeoutMs`.
 * @param via who asks, should that be a gateway
 */
export const getFrom = (upstream: UpstreamOptions, agent: Dispatcher, via: readonly string[] = []): Get => {
  const { origin, pathname } = new URL(upstream.url)
  const base = pathname.replace(/\/+$/, '')
  const common = { ...requestHeaders(upstream), ...hopHeaders(via) }
  const { name, timeoutMs: ms } = upstream

  return async (path, { limit, headers = {}, expected = [] }) => {
    const exchange = async (signal: AbortSignal): Promise<Reply> => {
      const request = { origin, path: base + path, method: 'GET', headers: { ...common, ...headers }, signal }
      const {
        statusCode: status,
        headers: replied,
        body,
      } = await agent.request(request as Dispatcher.RequestOptions)
      if (status === 200) {
        const encoding = replied['content-encoding']?.toString()
        const read = await readBody(body, encoding, limit)
        return { status, headers: replied, body: withoutOwnKey(read, upstream.key) }
      }
      discardBody(body)
      if (expected.includes(status)) return { status, headers: replied, body: null }
      throw new SourceError(reasonOfStatus(status), `${name}: ${path} answered ${status}`)
    }
    const late = new SourceError('timeout', `${name}: no answer within ${ms} ms`)
    try {
      return await withDeadline({ ms, late, caller: NOBODY }, (signal) =>
        untilAborted(exchange(signal), signal),
      )
    } catch (error) {
      throw toSourceError(error, name)
    }
  }
}

/** Shared work has no caller: who waits for it may leave, and it goes on. */
const NOBODY = new AbortController().signal
