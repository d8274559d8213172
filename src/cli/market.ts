import type { Source } from '../domain/reading.ts'
import type { KnownSpec } from '../filter-spec/upstream-spec.ts'
import type { Registry } from './select-registries.ts'

/** One HTTP request to a Registry, a gateway or a storefront. */
export type Call = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  url: string
  /** Bearer key; `null` goes without. */
  key: string | null
  /** JSON text. */
  body?: string | Uint8Array
  timeoutMs: number
  /** The Registry that the URL comes from, where the user did not name it: then it may lead to public addresses only. */
  toldBy?: Registry
}

export type Reply = { status: number; headers: Readonly<Record<string, string>>; body: Buffer }

/**
 * What the composition root opens for a command. Redirects are not followed, answers are bounded in size, and every
 * failure is a `SourceError`.
 */
export type Market = {
  /**
   * A Registry as a source of listings. `timeoutMs` is one request's.
   * @param spec by which filters are sent to it; absent: none are
   */
  source: (registry: Registry, timeoutMs: number, spec?: KnownSpec) => Source
  send: (call: Call) => Promise<Reply>
  /** Ends all connections. */
  close: () => Promise<void>
}

/** A route of a Registry, whose base URL may have a path and a trailing slash. */
export const routeOf = ({ url }: Pick<Registry, 'url'>, path: string): string =>
  `${url.replace(/\/+$/, '')}${path}`
