import { createHash } from 'node:crypto'
import { GONE, PUSHED_OUT } from '../../domain/feed-entry.ts'
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

type ChangedId = {
  source: string
  listingId: string
  /** Whether the operator leaves the copy out now. */
  isDenied: (copy: Copy) => boolean
  /** Whether the source may still have a copy that is gone here. */
  isPushedOut: (copy: Copy) => boolean
}

/**
 * What has changed of the copies of one id, with the copy that was shown before: none where there was none, or the operator left
 * it out.
 */
export function* changesBetween(
  before: readonly Copy[],
  after: readonly Copy[],
  { source, listingId, isDenied, isPushedOut }: ChangedId,
): Generator<readonly [change: SourceChange, before: Copy | null]> {
  const [earlier, later] = [statesOf(before, source), statesOf(after, source)]
  const shown = (copy: Copy | undefined): Copy | null => (copy === undefined || isDenied(copy) ? null : copy)
  for (const [key, { publisher, copy }] of earlier)
    if (!later.has(key)) {
      const state = isPushedOut(copy) ? PUSHED_OUT : GONE
      yield [{ source, key, listingId, publisher, state }, shown(copy)]
    }
  for (const [key, { state, publisher }] of later) {
    const known = earlier.get(key)
    if (known?.state !== state) yield [{ source, key, listingId, publisher, state }, shown(known?.copy)]
  }
}

export type States = Map<string, { state: string; publisher: string | null; copy: Copy }>

/** By key; of several copies of one listing in a source the last one. */
export function statesOf(copies: readonly Copy[], source: string): States {
  return new Map(
    copies.map((copy) => [keyOf(copy, source), { state: stateOf(copy), publisher: copy.publisher, copy }]),
  )
}
