import type { Visibility } from './reading.ts'

export const UPSTREAM_KINDS = ['registry', 'gateway'] as const
export const UPSTREAM_MODES = ['live', 'snapshot'] as const

/** Only a gateway's own `_meta` is believed. */
export type UpstreamKind = (typeof UPSTREAM_KINDS)[number]
/** `live` fans each query out; `snapshot` pulls all open listings and answers from memory. */
type UpstreamMode = (typeof UPSTREAM_MODES)[number]

/** One `[[upstreams]]` table of the gateway file, defaults filled in and the key resolved. */
export type UpstreamOptions = {
  /** `[a-z0-9-]`, unique; shown to readers. */
  name: string
  /** Base URL as configured; may have a path (`http://host/registry`). */
  url: string
  kind: UpstreamKind
  visibility: Visibility
  mode: UpstreamMode
  /** Bearer key, sent to the origin of `url` only; `null` asks without one. Never shown. */
  key: string | null
  /** Lower wins when two sources carry the same listing; the local Registry has 0. */
  priority: number
  /** One attempt, headers and body, in milliseconds. Default 2500. */
  timeoutMs: number
  /** Default 1000. */
  connectTimeoutMs: number
  /** Most requests at once. Default 8. */
  maxInFlight: number
  /** `snapshot`: pull period. Default 15. */
  refreshSeconds: number
  /** `live`: most listings read to apply a filter that the upstream lacks. Default 2000. */
  scanLimit: number
  /** `snapshot`: most listings held. Default 10000. */
  maxListings: number
  /** Whether `url` may lead to loopback, private and other not globally routed addresses. Default `false`. */
  allowPrivateAddresses: boolean
}
