import type { Reader } from '../../src/domain/api-key.ts'
import type { Item, NamedSource, Page } from '../../src/domain/page.ts'
import type { ListingQuery } from '../../src/domain/query.ts'
import { parseTimestamp } from '../../src/domain/timestamp.ts'

export const KEY_READER: Reader = {
  kind: 'key',
  key: { id: 1, name: 'reader', scope: 'read', hash: '00', createdAt: 0, revokedAt: null },
}

export const listingQuery = (query: Partial<ListingQuery> = {}): ListingQuery => ({
  status: 'open',
  publisher: null,
  criteria: [],
  filters: [],
  limit: 50,
  offset: 0,
  ...query,
})

/** The item that a listing's JSON text stands for. */
export const itemOf = (text: string): Item => {
  const { listing_id, created_at, storefront_url } = JSON.parse(text)
  return {
    bytes: Buffer.from(text),
    listingId: listing_id,
    createdAt: parseTimestamp(created_at) ?? 0,
    storefrontUrl: storefront_url ?? null,
    publisher: null,
  }
}

/** A source that holds these listings and answers truthfully at once, or as `ask` says. */
export const sourceOf = (
  name: string,
  texts: readonly string[],
  options: Partial<NamedSource> = {},
): NamedSource => ({
  name,
  visibility: 'public',
  mode: 'live',
  priority: 1,
  ask: async ({ offset, limit }) => pageOf(texts.slice(offset, offset + limit), texts.length),
  ...options,
})

export const pageOf = (texts: readonly string[], total = texts.length): Page => ({
  items: texts.map(itemOf),
  total,
  ageSeconds: 0,
  stale: false,
})
