import type { Micros } from '../domain/timestamp.ts'
import { EntrepotError } from '../errors.ts'
import { DROPPED_USES, droppedUses } from './guard.ts'
import { kindOf } from './records.ts'
import { type Place, type Put, placeOf, type Rows, type Space } from './rows.ts'

export type CopySource = Pick<Rows, 'get' | 'after' | 'close'>

/** An empty store that nothing else sees before `publish`. */
export type CopyTarget = {
  readonly rows: Pick<Rows, 'commit'>
  /** Ends the writing, and opens the copy for reading. */
  seal(): Promise<Pick<Rows, 'after'>>
  /** Atomic. @throws EntrepotError or ConfigError if the place is taken by now */
  publish(): Promise<void>
  /** Deletes what was not published. */
  close(): Promise<void>
}

/** `blocks`: absent without any. */
type Counts = { listings: number; publishers: number; keys: number; blocks?: number }

/** From these rows only removals go, and a removal is a row. They are counted, and no copy replaces them. */
export const HELD = ['registry', 'listings'] as const
/** Without the log of changes, of which a copy has a new one, and what belongs to it. */
const COPIED = [...HELD, 'facts', 'guard', 'audit', 'audit-sellers', 'removed'] as const

const PAGE = 1000

/**
 * Copies the state of one moment while other processes use the source, and counts the copy before it is published. Used
 * signatures are good for nothing in the copy, which refuses all that expire by `refusedUntil`.
 * @throws EntrepotError `unavailable` if either store fails, `internal` if the copy has other rows than the source
 */
export async function copyStore(
  openSource: () => Promise<CopySource>,
  openTarget: () => Promise<CopyTarget>,
  refusedUntil: Micros = 0,
): Promise<Counts> {
  const source = await openSource()
  try {
    const target = await openTarget()
    try {
      const held = await copyRows(target.rows, source, refusedUntil)
      const counts = await countsOf(await target.seal())
      const { listings, publishers, keys, blocks = 0 } = counts
      const found = listings + publishers + keys + blocks
      if (found !== held)
        throw new EntrepotError(
          'internal',
          `the copy has ${found} rows, the store has ${held}; it was deleted`,
        )
      await target.publish()
      return counts
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

/** Repeats the history of the source as far as its rows have it. Returns how many rows the source holds at the end. */
async function copyRows(
  target: CopyTarget['rows'],
  source: CopySource,
  refusedUntil: Micros,
): Promise<number> {
  let written = 0
  let held = 0
  let end = 0
  const commit = async (puts: readonly Put[]) => {
    if ((await target.commit(written, puts)) !== null)
      throw new EntrepotError('unavailable', 'another process has written to the copy')
    written = Math.max(...puts.map(({ at }) => at))
  }
  for await (const page of pages(source, COPIED)) {
    const puts = new Map<Place, Put>()
    for (const row of page.rows) {
      puts.set(placeOf(row.space, row.key), row)
      if (row.space === 'removed')
        puts.set(placeOf('listings', row.key), { ...row, space: 'listings', value: null })
    }
    if (puts.size > 0) await commit([...puts.values()])
    held = page.sizes.slice(0, HELD.length).reduce((sum, { rows }) => sum + rows, 0)
    end = page.end
  }
  const [uses] = (await source.get([placeOf('facts', DROPPED_USES)])).rows
  const dropped = { expiredBy: Math.max(refusedUntil, droppedUses(uses!).expiredBy), closedAt: end }
  const times = { createdAt: end + 1, at: end + 1 }
  await commit([{ space: 'facts', key: DROPPED_USES, value: JSON.stringify(dropped), ...times }])
  return held
}

async function countsOf(copy: Pick<Rows, 'after'>): Promise<Counts> {
  const found = { listing: 0, publisher: 0, key: 0, block: 0 }
  for await (const { rows } of pages(copy, HELD))
    for (const row of rows) found[row.space === 'listings' ? 'listing' : (kindOf(row) as 'key')]++
  const counts = { listings: found.listing, publishers: found.publisher, keys: found.key }
  return found.block === 0 ? counts : { ...counts, blocks: found.block }
}

/** Later changes come again, until there are none. */
async function* pages(source: Pick<Rows, 'after'>, spaces: readonly Space[]) {
  for (let at = 0, hasMore = true; hasMore; ) {
    const page = await source.after(spaces, at, PAGE, true)
    yield page
    hasMore = page.hasMore
    at = page.rows.at(-1)?.at ?? at
  }
}
