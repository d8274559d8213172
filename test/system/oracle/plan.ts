import type { SpecKind } from './scripted-registry.ts'

/** A Registry, or the inner gateway, as a gateway reads it. */
export type Route = {
  name: string
  priority: number
  /** Most listings that are held of it; `null` for all. */
  maxListings: number | null
}

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
  /** A Registry that is away at times, or answers first pages only, from the start on. */
  failing: string | null
}

export const INNER = 'inner'
/** Its whole pulls come so often, and up to five times less often while they find nothing: then worlds are calm sooner. */
export const INNER_FULL_SECONDS = 15

/** As `sources` names the gateway's own Registry. */
export const OWN = 'local'
