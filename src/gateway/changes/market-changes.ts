import { raceAbort, withDeadline } from '../../domain/clock.ts'
import { GONE, PUSHED_OUT, WHOLE_SOURCE } from '../../domain/feed-entry.ts'
import { maySee } from '../../domain/reader.ts'
import type { Holding } from '../../domain/source/holding.ts'
import { NOT_OPEN } from '../../domain/source/missing-source.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { nextTurn } from '../../domain/turns.ts'
import { EntrepotError } from '../../errors.ts'
import type { Copy } from '../../listing-index/copy.ts'
import { hasAnswered } from '../../wire/describe-missing.ts'
import type { SourceNote } from '../../wire/source.ts'
import { comparisonWith } from '../by-price/item-price.ts'
import type { MarkedSettings, PriceBounds } from '../by-price/price-bounds.ts'
import type { MarketParts } from '../market-parts.ts'
import type { CheckedQuery } from '../market-query.ts'
import { describeItem, type MergedItem } from '../merged-item.ts'
import { questionOf } from '../pages.ts'
import type { ChangeFeed } from './change-feed.ts'
import { type LoggedEntry, nameOf } from './change-log.ts'
import {
  digestOf,
  type FeedPosition,
  goneError,
  MAX_MISSING,
  openPosition,
  sealPosition,
} from './feed-position.ts'
import {
  type ChangesView,
  type ShownNow,
  shownListings,
  shownNow,
  viewOf,
  wasShown,
} from './shown-listings.ts'

/** Entries that are looked at in one turn of the event loop, and for one answer. */
const TURN = 100
const MAX_SCANNED = 5000
/** Wait for what another replica has read of the log. */
const READ_MS = 1000

export type Change = { key: string; listingId: string; publisher: string | null } & (
  | { kind: 'listing'; merged: MergedItem }
  /** `unchecked`: sources that are not followed; one of them may have the listing. */
  | { kind: 'removed'; unchecked: readonly string[] }
)

export type Changes = {
  changes: readonly Change[]
  /** Behind these changes. */
  position: string
  /** Whether there are further changes already. */
  hasMore: boolean
}

/** The changes of one query for one reader. */
export type Following = {
  /** Of now; `since` where it was given. */
  position: string
  /** Rejects with `gone` where what is behind the position is not known any more. */
  read: (since: string, limit: number) => Promise<Changes>
  /** Calls back when there may be changes. Returns how to stop. */
  onAdvance: (notify: () => void) => () => void
  /** What is known of each source, and whether its changes are followed. */
  sources: () => { complete: boolean; sources: readonly SourceNote[] }
}

/** `parts`: the sources with their health. */
type ChangesSettings = MarkedSettings & {
  feed: ChangeFeed
  parts: Pick<MarketParts, 'sources'>
  reads: SharedReads
}

/** Reads that run, by what they read: a change wakes many readers of one query at one position. */
export type SharedReads = Map<string, Promise<Changes>>

/** Rejects with an EntrepotError: `bad_request` or `gone` for `since`, `unavailable` where the log cannot be read up to it. */
export async function followChanges(
  settings: ChangesSettings,
  checked: CheckedQuery,
  since: string | null,
): Promise<Following> {
  const { feed, sources, parts } = settings
  const view = viewOf(sources, checked)
  const digest = digestIn(feed, view)
  const open = (text: string) => openPosition(text, digest, feed.log.incarnation)
  const start = since ?? sealNow(feed, missingIn(settings, view), digest)
  let latest = { incarnation: feed.log.incarnation, text: start, position: open(start) }
  if (latest.position.position > feed.log.end) await readBehind(feed, checked.merge.signal)
  checkPosition(settings, view, latest.position)
  return {
    position: start,
    read: async (text, limit) => {
      for (const { prepare } of view.ranked) prepare(undefined, checked.merge.signal)
      const { incarnation } = feed.log
      if (latest.text !== text || latest.incarnation !== incarnation)
        latest = { incarnation, text, position: open(text) }
      const from = latest.position
      checkPosition(settings, view, from)
      if (from.position === feed.log.end && from.caughtUpTo === from.position)
        return { changes: [], hasMore: false, position: text }
      return readTogether(settings, view, { digest, from, limit })
    },
    onAdvance: (notify) => feed.advanced.listen(notify),
    sources: () => describeSources(parts.sources, view, shownNow(settings, view)),
  }
}

/** Another replica may have read further. */
function readBehind(feed: ChangeFeed, caller: AbortSignal): Promise<void> {
  const timeoutError = () =>
    new EntrepotError('unavailable', 'The changes up to that position are not here yet: ask again')
  return withDeadline({ ms: READ_MS, timeoutError, caller }, (signal) => raceAbort(feed.read(), signal))
}

/** The position of now, for a reading that begins, and whether it is still good. */
export function currentPosition(
  settings: Omit<ChangesSettings, 'parts' | 'reads'>,
  checked: CheckedQuery,
): { text: string; isGood: () => boolean } {
  const { feed, sources } = settings
  const { log } = feed
  const { incarnation, end } = log
  const view = viewOf(sources, checked)
  const missing = missingIn(settings, view)
  const text = sealNow(feed, missing, digestIn(feed, view))
  return {
    text,
    isGood: () =>
      log.incarnation === incarnation && log.reachesBack(end) && missingIn(settings, view) === missing,
  }
}

function sealNow({ log }: ChangeFeed, missing: bigint, digest: string): string {
  const { end, incarnation } = log
  const now = { position: end, caughtUpTo: end, missing, start: log.startBefore(end) }
  return sealPosition(now, digest, incarnation)
}

/**
 * Sources that could be followed and are not now, one bit a rank: a reader without their listings reads again later. All
 * ranks beyond the last bit share it.
 */
function missingIn(settings: Omit<ChangesSettings, 'parts' | 'reads'>, view: ChangesView): bigint {
  const { followed } = shownNow(settings, view)
  return view.ranked.reduce((bits, { name }, rank) => (followed.has(name) ? bits : bits | bitOf(rank)), 0n)
}

const bitOf = (rank: number): bigint => 1n << BigInt(Math.min(rank, MAX_MISSING - 1))

function digestIn({ epoch }: ChangeFeed, { reader, query, ranked }: ChangesView): string {
  const isOwn = ranked.every((source) => source.isOwn)
  // The sources say what follows from the gateways that it has passed.
  const question = questionOf({ ...query, via: [] }, undefined, ranked)
  return digestOf([reader.digest, question, isOwn ? '' : epoch])
}

/** @throws EntrepotError `gone` */
function checkPosition(
  settings: ChangesSettings,
  view: ChangesView,
  { position, missing, start }: Omit<FeedPosition, 'caughtUpTo'>,
): void {
  const { log } = settings.feed
  if (!log.reachesBack(position)) throw goneError('is too old')
  const known = log.startBefore(position)
  if (known !== '' && known !== start) throw goneError('is of changes that the store has lost')
  if ((missing & ~missingIn(settings, view)) !== 0n)
    throw goneError('is of a reading that lacked a source, which answers again')
  for (const { name } of view.ranked)
    if ((log.latest(name, WHOLE_SOURCE)?.position ?? 0) > position)
      throw goneError(`is older than what is held of ${name}`)
}

function readTogether(
  settings: ChangesSettings,
  view: ChangesView,
  { digest, from, limit }: { digest: string; from: FeedPosition; limit: number },
): Promise<Changes> {
  const { feed, reads } = settings
  // The digest leaves out which gateways a query has passed, and these decide which sources it reads.
  const key = [digest, limit, from.position, from.caughtUpTo, from.missing, ...(view.query.via ?? [])].join(
    ' ',
  )
  const running = reads.get(key)
  if (running !== undefined) return running
  const read = readEntries(settings, view, from, limit)
    .then(({ position, ...rest }) => ({
      ...rest,
      position: sealPosition(position, digest, feed.log.incarnation),
    }))
    .finally(() => reads.delete(key))
  reads.set(key, read)
  return read
}

type EntriesRead = Omit<Changes, 'position'> & { position: FeedPosition }

async function readEntries(
  settings: ChangesSettings,
  view: ChangesView,
  from: FeedPosition,
  limit: number,
): Promise<EntriesRead> {
  const { feed } = settings
  const { incarnation } = feed.log
  const bounds = await settings.boundsOf(view.reader)
  const rankOf = new Map(view.ranked.map(({ name }, rank) => [name, rank]))
  const changes: Change[] = []
  let { position, missing } = from
  for (let scanned = 0; ; ) {
    if (feed.log.incarnation !== incarnation) throw goneError('is one of a log that was lost')
    checkPosition(settings, view, { position, missing, start: feed.log.startBefore(position) })
    const now = shownNow(settings, view)
    const entries = feed.log.after(position).take(TURN).toArray()
    for (const entry of entries) {
      const rank = rankOf.get(entry.source)
      const change =
        rank === undefined ? null : changeOf({ ...settings, bounds }, { view, now }, entry, from.caughtUpTo)
      if (change === UNKNOWN) missing |= bitOf(rank!)
      else if (change !== null) changes.push(change)
      position = entry.position
      scanned++
      if (changes.length === limit) break
    }
    if (entries.length < TURN && changes.length < limit) position = Math.max(position, feed.log.end)
    const hasMore = position < feed.log.end
    if (!hasMore || changes.length === limit || scanned >= MAX_SCANNED)
      return {
        changes,
        hasMore,
        position: {
          position,
          caughtUpTo: hasMore ? from.caughtUpTo : position,
          missing,
          start: feed.log.startBefore(position),
        },
      }
    await nextTurn()
  }
}

/** What a source without an answer has of a listing. */
const UNKNOWN = Symbol('unknown')

/** `null` where the reader need not know. @throws EntrepotError `gone` where what the reader has been shown is not known */
function changeOf(
  settings: ChangesSettings & { bounds: PriceBounds },
  { view, now }: { view: ChangesView; now: ShownNow },
  entry: LoggedEntry,
  since: number,
): Change | typeof UNKNOWN | null {
  const { key, listingId, publisher, source, state } = entry
  const merged = shownListings(settings, now, listingId).get(key)
  if (merged !== undefined) {
    const { priceLimit, via } = view.query
    const shown = describeItem(merged, { ...settings, via }, priceLimit && comparisonWith(priceLimit))
    return { kind: 'listing', key, listingId, publisher, merged: shown }
  }
  // Whether its source still has it is not known.
  if (state === PUSHED_OUT) return null
  // What a source without an answer had is not removed, unless it was gone before.
  const isGone = state === GONE && view.query.status === 'open'
  if (!isGone && !now.followed.has(source)) return UNKNOWN
  const removed: Change = { kind: 'removed', key, listingId, publisher, unchecked: now.notWhole }
  const before = copyBefore(settings.feed, view, entry, since)
  if (before !== undefined) return wasShown(settings, now, entry, before) ? removed : null
  if (view.reader.filter.criteria.length > 0) throw goneError('is too old to know what has left your view')
  return removed
}

/** What the source had at the position; `undefined` where that, or what other sources had, is not known. */
function copyBefore(
  feed: ChangeFeed,
  { ranked }: ChangesView,
  { source, key, state, previous }: LoggedEntry,
  since: number,
): Copy | null | undefined {
  if (previous > since) return undefined
  const { log, earlier } = feed
  // What others have may have changed since, in the log or in memory alone.
  const hasOthers = ranked.some(
    ({ name }) =>
      name !== source &&
      ((log.latest(name, key)?.position ?? 0) > since || feed.isPending(nameOf({ source: name, key }))),
  )
  return hasOthers ? undefined : earlier.before(nameOf({ source, key }), state)
}

function describeSources(
  sources: MarketParts['sources'],
  { ranked, query, reader }: ChangesView,
  { asked: { answers } }: ShownNow,
): { complete: boolean; sources: readonly SourceNote[] } {
  const asked = new Map(ranked.map((source) => [source.name, source]))
  const failures = new Map(
    answers.flatMap(({ source: { name }, answer }) =>
      answer instanceof SourceError ? [[name, answer] as const] : [],
    ),
  )
  const notes = sources
    .filter(({ source }) => maySee(reader, source) && asked.has(source.name))
    .flatMap(({ source: { name }, health }) => {
      const [note, ...gaps] = currentNotes(health)
      const source = asked.get(name)!
      const about = describe(note, failures.get(name))
      return [about, ...gaps, ...(query.status === null ? notOpenIn(source) : [])]
    })
  return { complete: notes.every(({ state }) => hasAnswered(state)), sources: notes }
}

function notOpenIn({ name, isOwn }: Holding): readonly SourceNote[] {
  if (isOwn) return []
  return NOT_OPEN.map(({ registry, state, reason }) => ({ registry: `${name}/${registry}`, state, reason }))
}

/** @param failure why the source does not answer this query, such as for closed listings */
function describe(note: SourceNote | undefined, failure: SourceError | undefined): SourceNote {
  const { registry, state, reason, held, of } = note!
  if (failure !== undefined && hasAnswered(state))
    return { registry, state: failure.traits.state, reason: failure.reason }
  return { registry, state, ...(reason !== undefined && { reason }), ...(of !== undefined && { held, of }) }
}

function currentNotes(health: MarketParts['sources'][number]['health']): readonly SourceNote[] {
  const notes = health(AbortSignal.abort())
  if (notes instanceof Promise) throw new EntrepotError('internal', 'a source that is followed is held')
  return notes
}
