import type { PackedListings } from '../../domain/listing.ts'
import type { Change, ChangelogPosition, LoadVisitor } from '../store.ts'
import { changeFromRow, incomplete, packListings } from './rows.ts'
import { FORMAT, type RedisSession } from './session.ts'

/** Ids per step of a load, which blocks Redis for about 1 ms. */
const LOAD_PAGE = 1000
const MAX_PAGE_BYTES = 4 * 1024 * 1024
/** Entries per atomic step: about 25 ms of Redis. */
const MAX_CHANGES = 1000
/** Bytes of rows per atomic step, except the last row. Other commands wait for them. */
const MAX_CHANGES_BYTES = 1024 * 1024
const POSITION = /^\d{1,16}-\d{1,3}$/

export async function loadAll(session: RedisSession, visitor: LoadVisitor): Promise<ChangelogPosition> {
  // Read first: changes during the load come after this position.
  const end = await session.call('changelog_end', [FORMAT])
  const [position, publisherCount, keyCount, blockCount, isWhole] = end as [
    ChangelogPosition,
    number,
    number,
    number,
    1 | null,
  ]
  if (isWhole === null) throw incomplete('listings or publishers')
  await visitRows(session, 'block', blockCount, visitor)
  await visitRows(session, 'key', keyCount, visitor)
  await visitRows(session, 'publisher', publisherCount, visitor)
  await visitListings(session, position, visitor)
  return position
}

export async function readChanges(
  session: RedisSession,
  position: ChangelogPosition,
  limit: number,
): Promise<{ changes: Change[]; position: ChangelogPosition } | 'lost'> {
  const changes: Change[] = []
  for (let from = position; ; ) {
    const count = Math.min(limit - changes.length, MAX_CHANGES)
    // Redis would reject a text that is not an entry id.
    const read = await session.call('changes', [POSITION.test(from) ? from : '0-0', count, MAX_CHANGES_BYTES])
    if (!Array.isArray(read)) return 'lost'
    for (let n = 2; n < read.length; n += 3) changes.push(changeFromRow(read[n], read[n + 1], read[n + 2]))
    from = read[0]
    if (changes.length === limit || read[1] === 0) return { changes, position: from }
  }
}

async function visitRows(
  session: RedisSession,
  kind: 'key' | 'publisher' | 'block',
  count: number,
  visitor: LoadVisitor,
): Promise<void> {
  for (let id = 1; id <= count; ) {
    const last = Math.min(id + LOAD_PAGE - 1, count)
    const rows = await session.call('rows', [kind, id, last, MAX_PAGE_BYTES])
    for (const row of rows as (string | null)[]) visitor.change(changeFromRow(kind, String(id++), row))
  }
}

/** Leaves later listings to the changelog: their publishers may not be known yet. */
async function visitListings(
  session: RedisSession,
  position: ChangelogPosition,
  visitor: LoadVisitor,
): Promise<void> {
  const pages = listingPages(session, position.split('-', 1)[0]!)
  for (let reading = pages.next(); ; ) {
    const { value: page, done } = await reading
    if (done) return
    reading = pages.next()
    reading.catch(() => {}) // prefetched: awaited in the next turn, unless the visit throws
    if (page.count > 0) await visitor.listings(page)
  }
}

/** A script that returned the rows would take twice as long: Lua copies every row. */
async function* listingPages(session: RedisSession, last: string): AsyncGenerator<PackedListings, void> {
  for (let after = '0'; ; ) {
    const page = await session.call('next_listings', [after, last, LOAD_PAGE, MAX_PAGE_BYTES])
    const [end, ...ids] = page as string[]
    if (ids.length === 0) return
    const rows = await session.run(() => session.client.hmgetBuffer(session.keys.listings, ...ids))
    yield packListings(ids, rows, Number(last))
    after = end!
  }
}
