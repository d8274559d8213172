import type { Micros } from './timestamp.ts'

/** A publisher of a Registry: the wallet that signed, and its storefront. */
export type Publisher = {
  publisherId: number
  scheme: string
  /** For scheme `eip191`: the signing address, lower-cased. */
  identifier: string
  storefrontUrl: string | null
  createdAt: Micros
  updatedAt: Micros
}
