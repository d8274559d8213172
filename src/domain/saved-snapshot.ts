import { type Gap, gapsAmong } from './gap.ts'
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from './json.ts'
import { objectMembers } from './json-members.ts'
import { arrayElements, type Slice } from './json-walk.ts'
import type { Item } from './page.ts'

/** All open listings of an upstream, by `listingKey`, as they were at a time (milliseconds since the Unix epoch). */
export type SavedSnapshot = {
  takenAt: number
  listings: ReadonlyMap<string, Item>
  /** What a gateway said was missing then; absent: nothing. */
  gaps?: readonly HeldGap[]
}

/** `heardAt`: since when (as `takenAt`) nothing was heard of it; absent where nothing ever was. */
export type HeldGap = Omit<Gap, 'ageSeconds'> & { heardAt?: number }

/** Where a snapshot outlives the process. */
export interface SnapshotKeeping {
  /**
   * What was saved last; `null` where there is none of this upstream.
   * @throws Error when it is there and cannot be read
   */
  load: () => Promise<SavedSnapshot | null>
  /** Takes the place of what was saved before, whole or not at all. */
  save: (snapshot: SavedSnapshot) => Promise<void>
}

/**
 * A snapshot as text, for `url`'s upstream. Each listing stands in it to the byte, behind what is known of it.
 */
export const renderSnapshot = ({ takenAt, listings, gaps }: SavedSnapshot, url: string): Buffer => {
  const missing = gaps === undefined ? '' : `"gaps":${JSON.stringify(gaps)},`
  const parts: Uint8Array[] = [
    Buffer.from(`{"url":${JSON.stringify(url)},"taken_at":${takenAt},${missing}"listings":[`),
  ]
  let comma = ''
  for (const [key, { bytes, ...about }] of listings) {
    parts.push(
      Buffer.from(`${comma}\n{"key":${JSON.stringify(key)},"about":${JSON.stringify(about)},"listing":`),
    )
    parts.push(bytes, CLOSE)
    comma = ','
  }
  parts.push(Buffer.from(']}\n'))
  return Buffer.concat(parts)
}

const CLOSE = Buffer.from('}')

/**
 * What `renderSnapshot` made; `null` where that was for another upstream, which had the same name once.
 * @throws SyntaxError for anything else
 */
export const readSnapshot = (bytes: Buffer, url: string): SavedSnapshot | null => {
  const members = membersAt(bytes, 0)
  const takenAt = valueAt(bytes, members.get('taken_at'))
  const listings = members.get('listings')
  const elements = listings === undefined ? null : arrayElements(bytes, listings.start)
  if (typeof takenAt !== 'number' || elements === null) throw new SyntaxError('it is no snapshot')
  if (valueAt(bytes, members.get('url')) !== url) return null
  const gaps = members.get('gaps')
  return {
    takenAt,
    listings: new Map(elements.map(({ start }) => readEntry(bytes, start))),
    ...(gaps === undefined ? {} : { gaps: readHeldGaps(valueAt(bytes, gaps)) }),
  }
}

const readHeldGaps = (value: JsonValue | undefined): HeldGap[] => {
  if (!Array.isArray(value)) throw new SyntaxError('it does not say what is missing')
  return value.flatMap((entry) => {
    const heardAt = isJsonObject(entry) ? entry.heardAt : undefined
    return gapsAmong([entry]).map((gap) => ({ ...gap, ...(typeof heardAt === 'number' ? { heardAt } : {}) }))
  })
}

const readEntry = (bytes: Buffer, at: number): [key: string, item: Item] => {
  const members = membersAt(bytes, at)
  const key = valueAt(bytes, members.get('key'))
  const about = valueAt(bytes, members.get('about'))
  const listing = members.get('listing')
  if (typeof key !== 'string' || !isAboutItem(about) || !isJsonObject(valueAt(bytes, listing)) || !listing)
    throw new SyntaxError('it holds something that is no listing')
  return [key, { ...about, bytes: bytes.subarray(listing.start, listing.end) }]
}

/** The file is our own: a look at what everything hangs on will do. */
const isAboutItem = (value: unknown): value is Omit<Item, 'bytes'> & JsonObject =>
  isJsonObject(value) && typeof value.listingId === 'string' && typeof value.createdAt === 'number'

const membersAt = (bytes: Buffer, at: number): ReadonlyMap<string, Slice> =>
  new Map(objectMembers(bytes, at).map(({ name, value }) => [name, value]))

const valueAt = (bytes: Buffer, place: Slice | undefined): JsonValue | undefined =>
  place === undefined ? undefined : parseJson(bytes.toString('utf8', place.start, place.end))
