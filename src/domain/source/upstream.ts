import type { Principal } from '../../signing/principal.ts'
import type { StandingFilter } from '../query.ts'

export const UPSTREAM_KINDS = ['registry', 'gateway'] as const

/** Only a gateway's `_meta` is trusted. */
export type UpstreamKind = (typeof UPSTREAM_KINDS)[number]

export type Visibility = 'public' | 'private'

/** A Registry of the signed line: its name there, and the keys that may sign its answers, two while it changes its key. */
export type Pin = { authority: string; keys: readonly Principal[] }

/** One `[[upstreams]]` table of the gateway file, with defaults. */
export type UpstreamOptions = {
  /** `[a-z0-9-]`, unique; shown to readers. */
  name: string
  /** Base URL as configured; may have a path (`http://host/registry`). */
  url: string
  kind: UpstreamKind
  visibility: Visibility
  /** Bearer key, sent only to the origin of `url`. Never shown. */
  key: string | null
  /** `null`: it speaks the plain line. */
  pin: Pin | null
  /** The lowest wins; the local Registry has 0. */
  priority: number
  /** One attempt, headers and body. Default 2500. */
  timeoutMs: number
  /** Default 1000. */
  connectTimeoutMs: number
  /** Default 8. */
  maxInFlight: number
  /** Period of the first page and the counts. Default 15, of a signed Registry 60. */
  refreshSeconds: number
  /** Least period of whole pulls, at least `refreshSeconds`. Default 60, of a signed Registry 3600. */
  fullRefreshSeconds: number
  /** The same while its changes are followed. Default 600. */
  followedRefreshSeconds: number
  /** Age at which what is held is stale; `null`: four times the period of whole pulls in effect. */
  maxAgeSeconds: number | null
  /** Most listings held, the newest; `null`: memory is the limit. */
  maxListings: number | null
  /** Only listings that match are held: what the rules of the operator keep. Default: all. */
  only?: StandingFilter
  /** Allows loopback, private and other addresses that are not globally routed. Default `false`. */
  allowPrivateAddresses: boolean
}
