import { isUtf8 } from 'node:buffer'
import { listingKey } from '../../domain/listing-identity.ts'
import type { Item } from '../../domain/source/item.ts'
import { coversRegistry } from '../../domain/source/missing-source.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { UpstreamKind } from '../../domain/source/upstream.ts'
import { nestingDepth } from '../../json/limits.ts'
import { objectMembers } from '../../json/members.ts'
import { type JsonObject, objectOrEmpty, parseJson, textAt } from '../../json/value.ts'
import { publisherNamed } from '../../signing/principal.ts'
import { renderEnvelope } from '../../wire/envelope.ts'
import { namesIn } from '../page/envelope.ts'
import { type Conditions, ListingPage, type PageItem } from '../page/listing-page.ts'

/** A change as an upstream states it, checked as far as a page of it is. */
export type FeedChange =
  | { kind: 'listing'; item: PageItem }
  /** `unchecked`: sources of a gateway that it does not follow. */
  | {
      kind: 'removed'
      listingId: string
      key: string
      publisher: string | null
      unchecked: readonly string[]
    }
  | { kind: 'source'; registry: string; state: string; reason: string | null }

/** A listing may be nested 32 deep. */
const MAX_DEPTH = 40

/** `null` for another type of change. @throws SourceError `not_json` | `bad_envelope` */
export function readChange(data: Buffer, kind: UpstreamKind, conditions: Conditions): FeedChange | null {
  const value = parse(data)
  switch (value.type) {
    case 'listing':
      return readListing(data, value, { kind, conditions })
    case 'removed': {
      const [listingId, key] = [textAt(value, 'listing_id'), textAt(value, 'key')]
      if (listingId === null || key === null) throw badChange('it names no listing')
      const unchecked = namesIn(value.unchecked)
      return { kind: 'removed', listingId, key, publisher: publisherIn(value), unchecked }
    }
    case 'source': {
      const [registry, state] = [textAt(value, 'source', 'registry'), textAt(value, 'source', 'state')]
      if (registry === null || state === null) throw badChange('it names no source')
      return { kind: 'source', registry, state, reason: textAt(value, 'source', 'reason') }
    }
    default:
      return null
  }
}

/** Whether the change removes this copy. */
export function isRemoved(
  item: Item,
  { key, publisher, unchecked }: Pick<FeedChange & { kind: 'removed' }, 'key' | 'publisher' | 'unchecked'>,
): boolean {
  if (item.origin === undefined)
    return publisher === null || item.publisher === null || item.publisher === publisher
  return listingKey(item.listingId, item, item.origin.registry) === key && !isUnchecked(item, unchecked)
}

/** Whether the copy is of a source that the gateway did not ask: only a pull shows what that source has now. */
export function isUnchecked({ origin }: Item, unchecked: readonly string[] = []): boolean {
  return origin !== undefined && unchecked.some((registry) => coversRegistry({ registry }, origin.registry))
}

function parse(data: Buffer): JsonObject {
  if (!isUtf8(data) || nestingDepth(data) > MAX_DEPTH)
    throw new SourceError('not_json', 'a change is not JSON')
  try {
    return objectOrEmpty(parseJson(data.toString()))
  } catch (cause) {
    throw new SourceError('not_json', 'a change is not JSON', { cause })
  }
}

function readListing(
  data: Buffer,
  value: JsonObject,
  read: { kind: UpstreamKind; conditions: Conditions },
): FeedChange {
  const row = objectMembers(data).findLast(({ name }) => name === 'listing')?.value
  if (row === undefined) throw badChange('it has no listing')
  const envelope = renderEnvelope([data.subarray(row.start, row.end)], 1)
  const [item] = new ListingPage(envelope, { ...read, offset: 0 }).items
  if (!item?.isReadable) throw badChange('its listing is not readable')
  // Rows of a plain Registry have a number in place of their publisher.
  if (item.origin === undefined) item.publisher = publisherIn(value)
  return { kind: 'listing', item }
}

function publisherIn(value: JsonObject): string | null {
  const text = textAt(value, 'publisher')
  return text === null ? null : publisherNamed(text)
}

function badChange(what: string): SourceError {
  return new SourceError('bad_envelope', `a change is not one: ${what}`)
}
