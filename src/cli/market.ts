import type { Source } from '../domain/reading.ts'
import type { KnownSpec } from '../filter-spec/upstream-spec.ts'
import type { Registry } from './select-registries.ts'

export type Call = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  url: string
  key: string | null
  /** JSON text. */
  body?: string | Uint8Array
  timeoutMs: number
  /** Set for URLs from a Registry: they may lead to public addresses only. */
  toldBy?: Registry
}

export type Reply = { status: number; headers: Readonly<Record<string, string>>; body: Buffer }

/** Does not follow redirects, bounds the size of answers, and rejects with `SourceError`s. */
export type Market = {
  /** `timeoutMs` is per request. Without `spec`, no filters are sent. */
  source: (registry: Registry, timeoutMs: number, spec?: KnownSpec) => Source
  send: (call: Call) => Promise<Reply>
  close: () => Promise<void>
}

/** The base URL may have a path and a trailing slash. */
export const routeOf = ({ url }: Pick<Registry, 'url'>, path: string): string =>
  `${url.replace(/\/+$/, '')}${path}`
