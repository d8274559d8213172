import type { Micros } from '../timestamp.ts'

export type Item = {
  /** As its Registry served it, without `_meta`. UTF-8. @throws SyntaxError for an unreadable copy */
  readonly bytes: Uint8Array
  listingId: string
  /** Orders it: when it was created, or a gateway's `_meta.position`. */
  position: Micros
  storefrontUrl: string | null
  /** Signing address, lower-cased, where it is known. */
  publisher: string | null
  /** As of `ListingIdentity`. */
  aliases?: readonly string[] | undefined
  origin?: Origin | undefined
  /** JSON members that a gateway adds: what the listing means, by its vocabulary. Absent where it was not read for that. */
  meaning?: string | undefined
  /** Its prices, as of `writeTerms`. Absent where it was not read for that. */
  terms?: string | undefined
}

/** Gateways of a path. The first ones are kept, so that in a ring of any length the first one knows what it has sent. */
export const MAX_VIA = 3

/** The `_meta` of a gateway's item, with the gateway's names. */
export type Origin = {
  registry: string
  alsoIn: readonly string[]
  disputed?: readonly string[]
  unchecked?: readonly string[]
  notIn?: readonly string[]
  /** Ids of the gateways that it came through, the first ones first. */
  via?: readonly string[]
  stale: boolean
  differs: boolean
}

/** Whether it came through one of these gateways. */
export const hasPassed = ({ origin }: Pick<Item, 'origin'>, via: readonly string[] = []): boolean =>
  origin?.via?.some((id) => via.includes(id)) === true
