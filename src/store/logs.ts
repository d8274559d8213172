import type { KeyUse, KeyUseStorage } from '../domain/api-key.ts'
import { AUDIT_KINDS, type AuditBounds, type AuditEntry, type NewAuditEntry } from '../domain/audit.ts'
import type { FeedEntry } from '../domain/feed-entry.ts'
import { randomId } from '../domain/random-id.ts'
import type { Micros } from '../domain/timestamp.ts'
import type { Feed, FeedAppend, FeedRead, NewFeedChange } from './feed.ts'
import { placeOf, type Row, type Rows, type Space } from './rows.ts'
import { MAX_AUDIT_DROPS } from './store.ts'
import type { Draft, Writer } from './writer.ts'

type Parts = { rows: Rows; writer: Writer }

/** Of a row's index and numbers in either store. */
const ROW_OVERHEAD = 100
const TRIM_PAGE = 100

/**
 * Drops the oldest rows of a space as long as one exceeds the bounds.
 * @param exceeds whether the row does; `bytes` and `rows` are of the space from that row on
 * @param mark what is known of the rows that went
 */
export async function trim(
  { rows: store, writer }: Parts,
  space: Space,
  exceeds: (row: Row, held: { rows: number; bytes: number }) => boolean,
  mark: (draft: Draft, going: readonly Row[]) => void = () => {},
): Promise<void> {
  // Mostly the oldest row stays, so it is looked at alone first.
  for (let dropped = 0, limit = 1; dropped < MAX_AUDIT_DROPS; limit = TRIM_PAGE) {
    const { rows, size } = await store.after([space], 0, limit)
    const held = { rows: size.rows, bytes: size.bytes + size.rows * ROW_OVERHEAD }
    let count = 0
    for (; count < rows.length && exceeds(rows[count]!, held); count++) {
      const { key, value } = rows[count]!
      held.rows--
      held.bytes -= Buffer.byteLength(key) + Buffer.byteLength(value) + ROW_OVERHEAD
    }
    if (count === 0) return
    const going = rows.slice(0, count)
    await writer.run(
      (draft) => {
        for (const { key, at } of going) if (draft.get(space, key)?.at === at) draft.remove(space, key)
        mark(draft, going)
      },
      going.map(({ key }) => placeOf(space, key)),
    )
    dropped += count
    if (count < limit) return
  }
}

const AUDIT_SPACES = { operator: 'audit', seller: 'audit-sellers' } as const

/** Acts of operators, and writes of sellers, which push none of those out. */
export class AuditLog {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async append(
    { kind, ...entry }: NewAuditEntry,
    { maxBytes, maxAgeMicros }: AuditBounds,
  ): Promise<AuditEntry> {
    const space = AUDIT_SPACES[kind]
    const key = randomId()
    const at = await this.#parts.writer.run(
      (draft) => {
        const time = draft.tick()
        draft.put(space, key, JSON.stringify(entry), time)
        return time
      },
      [placeOf(space, key)],
    )
    for (const one of AUDIT_KINDS)
      await trim(
        this.#parts,
        AUDIT_SPACES[one],
        (row, { bytes }) => bytes > maxBytes || row.at < at - maxAgeMicros,
      )
    return { ...entry, kind, at }
  }

  async read(since: Micros | null, limit: number): Promise<AuditEntry[]> {
    const { rows } = await this.#parts.rows.after(Object.values(AUDIT_SPACES), since, limit)
    const entries = rows.map(
      ({ space, value, at }): AuditEntry => ({
        ...JSON.parse(value),
        kind: space === 'audit' ? 'operator' : 'seller',
        at,
      }),
    )
    return since === null ? entries.slice(-limit) : entries.slice(0, limit)
  }
}

/** Rows of the space `logs`: what the log is, up to where it has the changes of the store, and what was dropped. */
const FEED = 'feed'
const FOLLOWED = 'feed followed'
const DROPPED = 'feed dropped'

/** Between source and key of an entry. */
const SEPARATOR = '\u001f'

export class RowFeed implements Feed {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async append(
    changes: readonly NewFeedChange[],
    { followed, maxBytes, retentionMs }: FeedAppend,
  ): Promise<void> {
    const now = await this.#parts.writer.run(
      (draft) => {
        if (draft.get('logs', FEED) === null) begin(draft)
        for (const change of changes) appendChange(draft, change)
        if (followed !== null) draft.put('logs', FOLLOWED, followed)
        return draft.tick()
      },
      [
        ...[FEED, FOLLOWED].map((key) => placeOf('logs', key)),
        ...changes.map((change) => placeOf('feed', keyOf(change))),
      ],
    )
    const oldest = now - retentionMs * 1000
    await trim(
      this.#parts,
      'feed',
      (row, { bytes }) => bytes > maxBytes || row.at < oldest,
      (draft, going) => {
        const before = Number(draft.get('logs', DROPPED)?.value ?? 0)
        draft.put('logs', DROPPED, String(Math.max(before, going.at(-1)!.at)))
      },
    )
  }

  async read(after: number, limit: number): Promise<FeedRead> {
    const places = [FEED, FOLLOWED, DROPPED].map((key) => placeOf('logs', key))
    // The log is read later than its entries, so that one that was dropped meanwhile is known to be.
    const [{ rows, newest }, about] = await Promise.all([
      this.#parts.rows.after(['feed'], after, limit),
      this.#parts.rows.get(places),
    ])
    const [log, followed, dropped] = about.rows
    if (!log) {
      await this.#open()
      return this.read(after, limit)
    }
    const droppedTo = dropped && dropped.at > log.at ? Number(dropped.value) : 0
    return {
      incarnation: log.value,
      entries: rows.filter(({ at }) => at > log.at).map(entryOf),
      end: newest > log.at ? newest : droppedTo,
      droppedTo,
      followed: followed && followed.at > log.at ? followed.value || null : null,
    }
  }

  async renew(followed: string | null): Promise<void> {
    await this.#parts.writer.run((draft) => {
      begin(draft)
      draft.put('logs', FOLLOWED, followed ?? '')
    })
  }

  async #open(): Promise<void> {
    await this.#parts.writer.run((draft) => {
      if (draft.get('logs', FEED) === null) begin(draft)
    })
  }

  onAppend(notify: () => void): () => void {
    return this.#parts.rows.onChange((spaces) => {
      if (spaces.has('feed')) notify()
    })
  }
}

/** Earlier entries are of another log, and the first to be dropped. */
function begin(draft: Draft): void {
  draft.put('logs', FEED, randomId())
}

function appendChange(draft: Draft, change: NewFeedChange): void {
  const { listingId, publisher, state, known } = change
  const key = keyOf(change)
  const latest = draft.get('feed', key)
  if (latest !== null && latest.at > known && entryOf(latest).state === state) return
  draft.put('feed', key, JSON.stringify([listingId, publisher, state]))
}

const keyOf = ({ source, key }: Pick<FeedEntry, 'source' | 'key'>): string => source + SEPARATOR + key

function entryOf({ key: name, value, at }: Row): FeedEntry {
  const [source = '', key = ''] = name.split(SEPARATOR, 2)
  const [listingId, publisher, state] = JSON.parse(value)
  return { position: at, at: Math.floor(at / 1000), source, key, listingId, publisher, state }
}

/** Requests with each API key, beside the market: no process follows them. */
export const rowKeyUses = ({ rows, writer }: Parts): KeyUseStorage => ({
  add: (uses) =>
    writer.run(
      (draft) => {
        for (const { keyId, calls, lastUsedAt } of uses) {
          const row = draft.get('uses', String(keyId))
          const before = row === null ? { calls: 0, lastUsedAt } : useOf(row)
          const sum = [before.calls + calls, Math.max(before.lastUsedAt, lastUsedAt)]
          draft.put('uses', String(keyId), sum.join(' '))
        }
      },
      uses.map(({ keyId }) => placeOf('uses', String(keyId))),
    ),
  read: async () => {
    const uses: KeyUse[] = []
    for (let at = 0, isWhole = false; !isWhole; ) {
      const read = await rows.after(['uses'], at, 1000)
      uses.push(...read.rows.map(useOf))
      at = read.rows.at(-1)?.at ?? at
      isWhole = !read.hasMore
    }
    return uses
  },
})

function useOf({ key, value }: Row): KeyUse {
  const [calls, lastUsedAt] = value.split(' ').map(Number)
  return { keyId: Number(key), calls: calls!, lastUsedAt: lastUsedAt! }
}
