import { createHash } from 'node:crypto'
import { listingKey } from '../../domain/listing-identity.ts'
import type { HeldCopy } from '../../domain/source/held.ts'
import type { Item } from '../../domain/source/reading.ts'
import { qualifiedName } from '../merged-item.ts'

export function keyOf(item: Item, source: string): string {
  return listingKey(item.listingId, item, qualifiedName(source, item))
}

/** Fingerprint of a copy: equal where readers are shown the same. */
function stateOf({ item, status }: HeldCopy): string {
  const { position, origin, bytes } = item
  const about = JSON.stringify([status, position, origin ?? null])
  return createHash('sha1').update(about).update(bytes).digest('base64url').slice(0, STATE_LENGTH)
}

const STATE_LENGTH = 16

/** By key; of several copies of one listing in a source the last one. */
export function statesOf(
  copies: readonly HeldCopy[],
  source: string,
): Map<string, { state: string; publisher: string | null; copy: HeldCopy }> {
  return new Map(
    copies.map((copy) => [
      keyOf(copy.item, source),
      { state: stateOf(copy), publisher: copy.item.publisher, copy },
    ]),
  )
}
