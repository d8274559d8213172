import { objectMembers } from '../../json/members.ts'
import { JsonScanner, type Slice } from '../../json/scanner.ts'
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../json/value.ts'
import type { Item } from './item.ts'
import { type MissingSource, readMissingList } from './missing-source.ts'

/** All open listings of an upstream by key, as of `takenAt` (ms since the Unix epoch). */
export type SavedSnapshot = SnapshotFacts & { listings: ReadonlyMap<string, Item> }

export type SnapshotFacts = {
  takenAt: number
  /** Age of its oldest data at that time, in seconds, where a gateway states it. */
  ageSeconds?: number | undefined
  missing?: readonly PersistedMissing[] | undefined
  /** How many listings the upstream had, where only the newest are held. */
  partOf?: number | undefined
}

/** What is saved. */
type SnapshotContent = SnapshotFacts & { listings: Iterable<readonly [key: string, item: Item]> }

/** `heardAt`: when it was last reachable, in ms since the Unix epoch; absent where it never was. */
export type PersistedMissing = Omit<MissingSource, 'ageSeconds'> & { heardAt?: number | undefined }

export interface SnapshotStorage {
  /** @throws Error when it cannot be read */
  load: () => Promise<SavedSnapshot | null>
  /** All or nothing. */
  save: (snapshot: SnapshotContent) => Promise<void>
}

/** Listings by status: that of open ones, and all others together. `null` where the upstream does not count. */
export type Counts = { open: number; others: number } | null

/** What first page and counts were when the snapshot was as it is. */
export type Totals = {
  total: number
  counts: Counts
  /** Position of the newest listing there, matching or not. */
  newest?: number | undefined
}

/** A whole pull of any replica, without its listings. */
export type SharedPull = SharedPullId &
  SnapshotFacts & {
    tookMs: number
    totals: Totals
    invalid: number
    gatewayId?: string | undefined
    /** From where `GET /changes` of the upstream has what is newer. */
    feedPosition?: string | undefined
  }

/** `hash`: of its listings, which several pulls may have. */
export type SharedPullId = { id: string; hash: string }

/** Whole pulls of one upstream that replicas share. Every function rejects without Redis. */
export interface SharedPulls {
  /** The latest one, its times by the clock of this process. */
  latest: () => Promise<SharedPull | null>
  /** `null` where the latest pull has others. */
  listings: (hash: string) => Promise<ReadonlyMap<string, Item> | null>
  /** @throws RangeError where the listings are too large for Redis */
  share: (
    pull: Omit<SharedPull, keyof SharedPullId> & Pick<SnapshotContent, 'listings'>,
  ) => Promise<SharedPullId>
  /** Whether this replica pulls now: until it ends its turn, or a minute later. */
  takeTurn: () => Promise<boolean>
  /** Whether an error of these functions is that the storage is away. */
  isAway: (error: unknown) => boolean
  endTurn: () => Promise<void>
}

/** Listings are kept to the byte. `identity` names the upstream and the credential. */
export function renderSnapshot(
  { takenAt, ageSeconds, listings, missing, partOf }: SnapshotContent,
  identity: string,
): Buffer {
  const age = ageSeconds === undefined ? '' : `"age_seconds":${ageSeconds},`
  const part = partOf === undefined ? '' : `"part_of":${partOf},`
  const entries = missing === undefined ? '' : `"missing":${JSON.stringify(missing)},`
  const parts: Uint8Array[] = [
    Buffer.from(
      `{"identity":${JSON.stringify(identity)},"taken_at":${takenAt},${age}${part}${entries}"listings":[`,
    ),
  ]
  let comma = ''
  for (const [key, { bytes, listingId, position, storefrontUrl, publisher, aliases, origin }] of listings) {
    const about = { listingId, position, storefrontUrl, publisher, aliases, origin }
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

/** `null` for another identity: one credential must not see another's listings. @throws SyntaxError */
export function readSnapshot(bytes: Buffer, identity: string): SavedSnapshot | null {
  const members = membersAt(bytes, 0)
  const takenAt = valueAt(bytes, members.get('taken_at'))
  const age = valueAt(bytes, members.get('age_seconds'))
  const listings = members.get('listings')
  const elements =
    listings === undefined ? null : (new JsonScanner(bytes).arrayAt(listings.start)?.elements ?? null)
  if (typeof takenAt !== 'number' || elements === null) throw new SyntaxError('not a snapshot')
  if (valueAt(bytes, members.get('identity')) !== identity) return null
  const missing = members.get('missing')
  const partOf = valueAt(bytes, members.get('part_of'))
  return {
    takenAt,
    listings: new Map(elements.map(({ start }) => readEntry(bytes, start))),
    ...(typeof age === 'number' && { ageSeconds: age }),
    ...(typeof partOf === 'number' && { partOf }),
    ...(missing !== undefined && { missing: readMissingEntries(valueAt(bytes, missing)) }),
  }
}

export function readMissingEntries(value: JsonValue | undefined): PersistedMissing[] {
  if (!Array.isArray(value)) throw new SyntaxError('not a snapshot: missing is not an array')
  return value.flatMap((entry) => {
    const heardAt = isJsonObject(entry) ? entry.heardAt : undefined
    return readMissingList([entry]).map((one) => (typeof heardAt === 'number' ? { ...one, heardAt } : one))
  })
}

function readEntry(bytes: Buffer, at: number): [key: string, item: Item] {
  const members = membersAt(bytes, at)
  const key = valueAt(bytes, members.get('key'))
  const about = valueAt(bytes, members.get('about'))
  const listing = members.get('listing')
  if (typeof key !== 'string' || !isAboutItem(about) || !isJsonObject(valueAt(bytes, listing)) || !listing)
    throw new SyntaxError('not a snapshot: an entry is not a listing')
  return [key, { ...about, bytes: bytes.subarray(listing.start, listing.end) }]
}

/** Our own file: only essential members are checked. */
function isAboutItem(value: unknown): value is Omit<Item, 'bytes'> & JsonObject {
  return isJsonObject(value) && typeof value.listingId === 'string' && typeof value.position === 'number'
}

function membersAt(bytes: Buffer, at: number): ReadonlyMap<string, Slice> {
  return new Map(objectMembers(bytes, at).map(({ name, value }) => [name, value]))
}

function valueAt(bytes: Buffer, place: Slice | undefined): JsonValue | undefined {
  return place === undefined ? undefined : parseJson(bytes.toString('utf8', place.start, place.end))
}
