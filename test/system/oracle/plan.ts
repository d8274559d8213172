import type { SpecKind } from './scripted-registry.ts'

export const UPSTREAM_MODES = ['live', 'auto', 'snapshot'] as const
export type UpstreamMode = (typeof UPSTREAM_MODES)[number]

/** `own`: the gateway's own Registry, which is always in memory. */
export type Mode = UpstreamMode | 'own'

/** A Registry, or the inner gateway, as a gateway reads it. */
export type Route = { name: string; mode: Mode; priority: number }

export type Plan = {
  registries: {
    name: string
    size: number
    spec: SpecKind
    odd: { oversized: number; isFailing: boolean }
    hasPublishers: boolean
    isCoarse: boolean
    skewMs: number
    pageSize: number
    isLiar: boolean
  }[]
  /** What the gateway reads directly; `inner` is a second gateway. */
  outer: Route[]
  /** What the second gateway reads; empty without one. */
  inner: Route[]
  /** Gateways that read the outer routes; cursors of one are good at the other. */
  replicas: number
  /** Share of requests before which something changes. */
  unrest: number
  /** Most listings of a source that is read whole; `null` for the default, which is more than any has. */
  scanLimit: number | null
  /** A Registry that is away at times, from the start on. */
  failing: string | null
}

export const INNER = 'inner'
