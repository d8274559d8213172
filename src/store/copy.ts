import { isDeepStrictEqual } from 'node:util'
import type { AuditEntry } from '../domain/audit.ts'
import { unpackListings } from '../domain/listing.ts'
import type { Micros } from '../domain/timestamp.ts'
import { EntrepotError } from '../errors.ts'
import type { Change, LoadVisitor, SpentSignature, Store } from './store.ts'

export type CopySource = Pick<Store, 'load' | 'changesAfter' | 'readAudit' | 'close'> & {
  /** In pages: used signatures, spent or not, that expire after that time. Some may come twice. */
  usedSignatures(after: Micros): AsyncIterable<SpentSignature[]>
  /** Latest expiry of a spent signature that was dropped; 0 without any. */
  latestDropped(): Promise<Micros>
}

/** An empty store that nothing else sees before `publish`. */
export type CopyTarget = {
  put(change: Change): void
  putUsed(signature: SpentSignature): void
  /** In the order of time. */
  putAudit(entry: AuditEntry): void
  /** Resolves when everything that was put is written. */
  flush(): Promise<void>
  /** Ends the writing, and opens the copy for reading. Later mutations get a time after `clock`. */
  seal(clock: Micros, latestDropped: Micros): Promise<CopySource>
  /** Atomic. @throws EntrepotError or ConfigError if the place is taken by now */
  publish(): Promise<void>
  /** Deletes what was not published. */
  close(): Promise<void>
}

/** `blocks`: absent without any. */
type Counts = { listings: number; publishers: number; keys: number; blocks?: number }

/** Changes per read of the changelog. */
const BATCH = 1000

/**
 * Copies the state of one moment while other processes use the source, and counts the copy before it is published. Used
 * signatures are spent in the copy, which refuses all that expire by `refusedUntil`.
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
  const put = (change: Change): void => {
    read.add(change)
    target.put(change)
  }
  let position = await source.load(visitorOf(put, () => target.flush()))
  for (let isBehind = true; isBehind; ) {
    const next = await source.changesAfter(position, BATCH)
    if (next === 'lost')
      throw new EntrepotError('unavailable', 'the store changed faster than it was read; repeat the command')
    next.changes.forEach(put)
    await target.flush()
    position = next.position
    isBehind = next.changes.length === BATCH
  }
  await copyAudit(target, source)
  const copy = await target.seal(read.clock, await copyUses(target, source, refusedUntil))
  const written = new Tally()
  await copy.load(visitorOf((change) => written.add(change))).finally(() => copy.close())
  if (!isDeepStrictEqual(written.counts, read.counts))
    throw new EntrepotError('internal', `the copy has ${written}, the store has ${read}; it was deleted`)
  await target.publish()
  return read.counts
}

async function copyAudit(target: CopyTarget, source: CopySource): Promise<void> {
  for (let since: Micros | undefined = 0; since !== undefined; ) {
    const page: AuditEntry[] = await source.readAudit(since, BATCH)
    for (const entry of page) target.putAudit(entry)
    await target.flush()
    since = page.at(-1)?.at
  }
}

/** Returns until when the copy refuses every signature. Read last: the source may drop some meanwhile. */
async function copyUses(target: CopyTarget, source: CopySource, refusedUntil: Micros): Promise<Micros> {
  const after = Math.max(refusedUntil, await source.latestDropped())
  for await (const page of source.usedSignatures(after)) {
    for (const signature of page) target.putUsed(signature)
    await target.flush()
  }
  return Math.max(refusedUntil, await source.latestDropped())
}

/** Counts what is there after all changes: changes may repeat. */
class Tally {
  /** Time of the latest mutation. */
  clock: Micros = 0
  readonly #listings = new Set<string>()
  readonly #publishers = new Set<number>()
  readonly #keys = new Set<number>()
  readonly #blocks = new Set<number>()

  get counts(): Counts {
    const blocks = this.#blocks.size
    const counts = {
      listings: this.#listings.size,
      publishers: this.#publishers.size,
      keys: this.#keys.size,
    }
    return blocks === 0 ? counts : { ...counts, blocks }
  }

  add(change: Change): void {
    if (change.kind === 'listing_removed') {
      this.#listings.delete(change.listingId)
    } else if (change.kind === 'listing') {
      this.#listings.add(change.record.listingId)
      this.#see(change.record.updatedAt)
    } else if (change.kind === 'publisher') {
      this.#publishers.add(change.publisher.publisherId)
      this.#see(change.publisher.updatedAt)
    } else if (change.kind === 'block') {
      this.#blocks.add(change.block.id)
      this.#see(change.block.endedAt ?? change.block.createdAt)
    } else {
      this.#keys.add(change.key.id)
      this.#see(change.key.revokedAt ?? change.key.createdAt)
    }
  }

  toString(): string {
    return JSON.stringify(this.counts)
  }

  #see(time: Micros): void {
    this.clock = Math.max(this.clock, time)
  }
}

const visitorOf = (visit: (change: Change) => void, flush?: () => Promise<void>): LoadVisitor => ({
  change: visit,
  listings: (page) => {
    for (const record of unpackListings(page)) visit({ kind: 'listing', record })
    return flush?.()
  },
})
