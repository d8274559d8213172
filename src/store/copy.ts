import { isDeepStrictEqual } from 'node:util'
import type { Micros } from '../domain/timestamp.ts'
import { EntrepotError } from '../errors.ts'
import { DROPPED_USES, droppedUses } from './guard.ts'
import { kindOf } from './records.ts'
import { placeOf, type Row, type Rows, type Space } from './rows.ts'

export type CopySource = Pick<Rows, 'get' | 'after' | 'close'>

/** An empty store that nothing else sees before `publish`. */
export type CopyTarget = {
  put(rows: readonly Row[]): Promise<void>
  remove(space: Space, key: string): Promise<void>
  /** Ends the writing, and opens the copy for reading. Everything that is committed to it gets a later time. */
  seal(end: Micros): Promise<CopySource>
  /** Atomic. @throws EntrepotError or ConfigError if the place is taken by now */
  publish(): Promise<void>
  /** Deletes what was not published. */
  close(): Promise<void>
}

/** `blocks`: absent without any. */
type Counts = { listings: number; publishers: number; keys: number; blocks?: number }

/** Without the log of changes, of which a copy has a new one, and what belongs to it. */
const COPIED = ['registry', 'listings', 'facts', 'guard', 'audit', 'audit-sellers'] as const

const PAGE = 1000

/**
 * Copies the state of one moment while other processes use the source, and counts the copy before it is published. Used
 * signatures are good for nothing in the copy, which refuses all that expire by `refusedUntil`.
 * @throws EntrepotError `unavailable` if either store fails, `internal` if the copy has other counts than the source
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
      return await copyInto(target, source, refusedUntil)
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

async function copyInto(target: CopyTarget, source: CopySource, refusedUntil: Micros): Promise<Counts> {
  const read = new Tally()
  const begun = (await source.after(['registry'], 0, 1)).end
  for (const space of COPIED)
    for await (const { rows } of pages(source, [space], 0)) {
      read.add(rows)
      await target.put(rows)
    }
  // What has changed meanwhile, until nothing has.
  let end = begun
  for await (const page of pages(source, [...COPIED, 'removed'], begun)) {
    end = page.end
    read.add(page.rows)
    for (const row of page.rows)
      if (row.space === 'removed') await target.remove('listings', row.key)
      else await target.put([row])
  }
  const [row] = (await source.get([placeOf('facts', DROPPED_USES)])).rows
  const dropped = { expiredBy: Math.max(refusedUntil, droppedUses(row!).expiredBy), closedAt: end }
  const value = JSON.stringify(dropped)
  await target.put([{ space: 'facts', key: DROPPED_USES, value, createdAt: end, at: end }])
  const written = new Tally()
  const copy = await target.seal(end)
  try {
    for (const space of ['registry', 'listings'] as const)
      for await (const { rows } of pages(copy, [space], 0)) written.add(rows)
  } finally {
    await copy.close()
  }
  if (!isDeepStrictEqual(written.counts, read.counts))
    throw new EntrepotError('internal', `the copy has ${written}, the store has ${read}; it was deleted`)
  await target.publish()
  return read.counts
}

async function* pages(source: CopySource, spaces: readonly Space[], from: Micros) {
  for (let at = from, hasMore = true; hasMore; ) {
    const page = await source.after(spaces, at, PAGE, true)
    yield page
    hasMore = page.hasMore
    at = page.rows.at(-1)?.at ?? at
  }
}

/** Counts what is there after all changes: rows may come twice. */
class Tally {
  readonly #keys = { listing: new Set<string>(), publisher: new Set(), key: new Set(), block: new Set() }

  get counts(): Counts {
    const { listing, publisher, key, block } = this.#keys
    const counts = { listings: listing.size, publishers: publisher.size, keys: key.size }
    return block.size === 0 ? counts : { ...counts, blocks: block.size }
  }

  add(rows: readonly Row[]): void {
    for (const row of rows) {
      if (row.space === 'listings') this.#keys.listing.add(row.key)
      if (row.space === 'removed') this.#keys.listing.delete(row.key)
      if (row.space === 'registry') this.#keys[kindOf(row) as 'publisher' | 'key' | 'block'].add(row.key)
    }
  }

  toString(): string {
    return JSON.stringify(this.counts)
  }
}
