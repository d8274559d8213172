import type { Page, Source } from '../domain/page.ts'
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
  /** The Registry that told the URL, where it is not the user's own: then it may lead to public addresses only. */
  toldBy?: Registry
}

export type Reply = { status: number; headers: Readonly<Record<string, string>>; body: Buffer }

/**
 * The way to the market that the composition root opens for a command. Redirects are never followed, answers are
 * bounded in size, and whatever goes wrong on the way is a `SourceError`.
 */
export type Market = {
  /** A Registry as a source of listings. `timeoutMs` is one request's. */
  source: (registry: Registry, timeoutMs: number) => Source
  /** The listing of that id as a page of one, or of none where the Registry does not know it. */
  findListing: (registry: Registry, id: string, timeoutMs: number) => Promise<Page>
  send: (call: Call) => Promise<Reply>
  /** Ends all connections. */
  close: () => Promise<void>
}

/** A route of a Registry, whose base URL may have a path and a trailing slash. */
export const routeOf = ({ url }: Pick<Registry, 'url'>, path: string): string =>
  `${url.replace(/\/+$/, '')}${path}`
