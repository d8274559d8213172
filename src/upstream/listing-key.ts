import type { UpstreamKind } from '../domain/upstream.ts'
import type { UpstreamItem } from './upstream-item.ts'

/**
 * What tells a listing of an upstream from its others: its id, and behind a gateway, where several publishers may use
 * one id, who published it. No id holds a line feed, so keys sort as the ids do.
 */
export const listingKey = (kind: UpstreamKind, { item, publisherId }: UpstreamItem): string => {
  const { listingId, publisher, storefrontUrl } = item
  return kind === 'gateway' ? [listingId, publisherId, publisher, storefrontUrl].join('\n') : listingId
}
