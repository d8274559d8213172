import { createHash } from 'node:crypto'
import { listingKey } from '../../domain/listing-identity.ts'
import type { Item } from '../../domain/source/item.ts'
import type { Copy } from '../../listing-index/copy.ts'
import type { NewFeedChange } from '../../store/feed.ts'
import { qualifiedName } from '../sources.ts'

export function keyOf(item: Item, source: string): string {
  return listingKey(item.listingId, item, qualifiedName(source, item))
}

/** Fingerprint of a copy: equal where readers are shown the same. */
function stateOf({ status, position, origin, aliases = [], bytes }: Copy): string {
  const about = JSON.stringify([status, position, origin ?? null, ...aliases])
  return createHash('sha1').update(about).update(bytes).digest('base64url').slice(0, STATE_LENGTH)
}

const STATE_LENGTH = 16

export type SourceChange = Omit<NewFeedChange, 'known'>

export type States = Map<string, { state: string; publisher: string | null; copy: Copy }>

/** By key; of several copies of one listing in a source the last one. */
export function statesOf(copies: readonly Copy[], source: string): States {
  return new Map(
    copies.map((copy) => [keyOf(copy, source), { state: stateOf(copy), publisher: copy.publisher, copy }]),
  )
}
