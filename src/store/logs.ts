import type { KeyUse, KeyUseStorage } from '../domain/api-key.ts'
import type { AuditBounds, AuditEntry, NewAuditEntry } from '../domain/audit.ts'
import { randomId } from '../domain/random-id.ts'
import type { Micros } from '../domain/timestamp.ts'
import { placeOf, type Row, type Rows, type Space } from './rows.ts'
import type { Draft, Writer } from './writer.ts'

export type Parts = { rows: Rows; writer: Writer }

/** Of a row's index and numbers in either store. */
const ROW_OVERHEAD = 100
const TRIM_PAGE = 100
/** Of one call: bounds that were lowered are reached step by step. */
const MAX_DROPS = 1000

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
  for (let dropped = 0, limit = 1; dropped < MAX_DROPS; limit = TRIM_PAGE) {
    const { rows, sizes } = await store.after([space], 0, limit)
    const size = sizes[0]!
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

/** Keeps the time of the latest row that went. */
export const dropped =
  (space: Space, key: string) =>
  (draft: Draft, going: readonly Row[]): void => {
    const before = Number(draft.get(space, key)?.value ?? 0)
    draft.put(space, key, String(Math.max(before, going.at(-1)!.at)))
  }

/** Acts of operators, and writes of sellers, which push none of those out. */
const AUDIT_SPACES = { operator: 'audit', seller: 'audit-sellers' } as const

export async function appendAudit(
  parts: Parts,
  { kind, ...entry }: NewAuditEntry,
  { maxBytes, maxAgeMicros }: AuditBounds,
): Promise<AuditEntry> {
  const key = randomId()
  const at = await parts.writer.run((draft) => {
    const time = draft.tick()
    draft.add(AUDIT_SPACES[kind], key, JSON.stringify(entry), time)
    return time
  })
  const exceeds = (row: Row, { bytes }: { bytes: number }) => bytes > maxBytes || row.at < at - maxAgeMicros
  for (const space of Object.values(AUDIT_SPACES)) await trim(parts, space, exceeds)
  return { ...entry, kind, at }
}

export async function readAudit(
  { rows: store }: Parts,
  since: Micros | null,
  limit: number,
): Promise<AuditEntry[]> {
  const { rows } = await store.after(Object.values(AUDIT_SPACES), since, limit)
  const entries = rows.map(
    ({ space, value, at }): AuditEntry => ({
      ...JSON.parse(value),
      kind: space === 'audit' ? 'operator' : 'seller',
      at,
    }),
  )
  return since === null ? entries.slice(-limit) : entries.slice(0, limit)
}

/** Requests with each API key, beside the market: no process follows them. */
export const keyUses = ({ rows, writer }: Parts): KeyUseStorage => ({
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
