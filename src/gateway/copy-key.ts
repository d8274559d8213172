import { createHash } from 'node:crypto'
import type { Item } from '../domain/page.ts'

/** Characters of a key, six bits each: no two of the few that one cursor names are the same by chance. */
export const KEY_LENGTH = 8

/** What a cursor names a copy by: copies of one listing at one storefront have one key. */
export const copyKey = ({ listingId, storefrontUrl }: Pick<Item, 'listingId' | 'storefrontUrl'>): string =>
  createHash('sha256')
    .update(JSON.stringify([listingId, storefrontUrl]))
    .digest('base64url')
    .slice(0, KEY_LENGTH)
