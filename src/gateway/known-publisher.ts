import type { StandingFilter } from '../domain/query.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import type { Item } from '../domain/source/reading.ts'

/** What better sources know of a listing's publisher; names by rank. */
export type KnownPublisher = {
  /** Those known whole, which know the publisher and do not have the listing. */
  notIn: readonly string[]
  /** Those with another storefront of the publisher. */
  disputed: readonly string[]
}

const NONE: readonly string[] = []

/**
 * What better sources know of the publisher of a listing that none of them has, each asked once.
 * @param isWhole whether all listings of the source of that rank are known. A gateway's listing is not missed anywhere.
 */
export function publisherInBetter(
  ranked: readonly NamedSource[],
  { item, rank }: { item: Item; rank: number },
  standing: StandingFilter | undefined,
  isWhole: (rank: number) => boolean,
): KnownPublisher {
  const { publisher, storefrontUrl, origin } = item
  let notIn: readonly string[] = NONE
  let disputed: readonly string[] = NONE
  if (publisher === null) return { notIn, disputed }
  const within = { standing }
  for (let n = 0; n < rank; n++) {
    const { name, storefrontOf } = ranked[n]!
    const storefront = storefrontOf?.(publisher, within)
    if (storefront === undefined) continue
    if (storefront !== storefrontUrl) disputed = [...disputed, name]
    if (origin === undefined && isWhole(n)) notIn = [...notIn, name]
  }
  return { notIn, disputed }
}
