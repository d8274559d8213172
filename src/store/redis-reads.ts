import type { PackedListings } from '../domain/packed-listings.ts'
import { packListings } from './redis-pack.ts'
import { changeOf, keyOf, publisherOf } from './redis-rows.ts'
import { script } from './redis-script.ts'
import type { RedisSession } from './redis-session.ts'
import type { Change, LoadVisitor, Position } from './store.ts'

/** Rows per page: each page holds up Redis for about 1 ms. */
const LOAD_PAGE = 1000
/** Changelog entries read in one atomic step: about 25 ms of Redis. */
const MAX_CHANGES = 1000
const POSITION = /^\d{1,16}-\d{1,3}$/

const SCRIPTS = {
  extent: script('extent'),
  changes: script('changes'),
}

/** Where the changelog ends, and how many publishers and keys there are: their ids run from 1. */
export const readExtent = async (
  session: RedisSession,
): Promise<{ position: Position; publishers: number; apiKeys: number }> => {
  const { log, publishers, apiKeys } = session.keys
  const extent = (await session.ask(SCRIPTS.extent, [log, publishers, apiKeys], [])) as [
    string,
    number,
    number,
  ]
  return { position: extent[0], publishers: extent[1], apiKeys: extent[2] }
}

/** In pages, so that a long load holds up neither Redis nor the event loop. */
export const load = async (session: RedisSession, visitor: LoadVisitor): Promise<Position> => {
  // The position comes first: what changes while the pages are read stands behind it in the changelog.
  const extent = await readExtent(session)
  await visitRows(session, session.keys.apiKeys, extent.apiKeys, (id, row) =>
    visitor.change({ kind: 'key', key: keyOf(id, row) }),
  )
  await visitRows(session, session.keys.publishers, extent.publishers, (id, row) =>
    visitor.change({ kind: 'publisher', publisher: publisherOf(id, row) }),
  )
  await visitListings(session, extent.position, visitor)
  return extent.position
}

export const changesAfter = async (
  session: RedisSession,
  position: Position,
  limit: number,
): Promise<{ changes: Change[]; position: Position } | 'lost'> => {
  const { log, publishers, listings, apiKeys } = session.keys
  const changes: Change[] = []
  for (let from = position; ; ) {
    const asked = Math.min(limit - changes.length, MAX_CHANGES)
    // Redis would refuse the command for a text that is not an entry's id.
    const read = await session.ask(
      SCRIPTS.changes,
      [log, publishers, listings, apiKeys],
      [POSITION.test(from) ? from : '0-0', asked],
    )
    if (!Array.isArray(read)) return 'lost'
    for (let n = 2; n < read.length; n += 3) changes.push(changeOf(read[n], read[n + 1], read[n + 2]))
    from = read[0]
    if (changes.length === limit || read[1] < asked) return { changes, position: from }
  }
}

/** Visits the rows with the ids from 1 to `count`. */
const visitRows = async (
  session: RedisSession,
  key: string,
  count: number,
  visit: (id: string, row: string) => void,
): Promise<void> => {
  for (let first = 1; first <= count; first += LOAD_PAGE) {
    const ids = Array.from({ length: Math.min(LOAD_PAGE, count - first + 1) }, (_, n) => String(first + n))
    const rows = await session.run(() => session.client.hmget(key, ...ids))
    for (const [n, id] of ids.entries()) visit(id, rows[n]!)
  }
}

/** Listings of a later time than the position's are left to the changelog: their publishers may not be known yet. */
const visitListings = async (
  session: RedisSession,
  position: Position,
  visitor: LoadVisitor,
): Promise<void> => {
  const last = position.split('-', 1)[0]!
  let reading: Promise<Page> | null = readPage(session, '0', last)
  while (reading !== null) {
    const { page, next }: Page = await reading
    reading = next === null ? null : readPage(session, next, last)
    reading?.catch(() => {}) // read while this page is visited, and awaited in the next turn, unless that throws
    if (page.count > 0) await visitor.listings(page)
  }
}

/** `next` is the time that the page after this one starts behind; `null` where this is the last. */
type Page = { page: PackedListings; next: string | null }

/** Twice as fast as a script that reads both: Lua would copy every row. */
const readPage = async (session: RedisSession, after: string, last: string): Promise<Page> => {
  const { client, keys } = session
  const found = await session.run(() =>
    client.zrangebyscore(keys.created, `(${after}`, last, 'WITHSCORES', 'LIMIT', 0, LOAD_PAGE),
  )
  const ids = found.filter((_, n) => n % 2 === 0)
  const rows = ids.length === 0 ? [] : await session.run(() => client.hmgetBuffer(keys.listings, ...ids))
  return {
    page: packListings(ids, rows, Number(last)),
    next: ids.length < LOAD_PAGE ? null : found.at(-1)!,
  }
}
