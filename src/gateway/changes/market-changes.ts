import { hash } from 'node:crypto'
import { raceAbort, withDeadline } from '../../domain/clock.ts'
import { WHOLE_SOURCE } from '../../domain/feed-entry.ts'
import { keepLatest } from '../../domain/remembered.ts'
import type { Holding } from '../../domain/source/holding.ts'
import { NOT_OPEN } from '../../domain/source/missing-source.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { nextTurn } from '../../domain/turns.ts'
import { EntrepotError } from '../../errors.ts'
import { hasAnswered } from '../../wire/describe-missing.ts'
import type { SourceNote } from '../../wire/source.ts'
import { askNow } from '../ask.ts'
import type { CheckedQuery, Question } from '../market-query.ts'
import type { MarketSettings, MarketSource } from '../market-settings.ts'
import { questionOf } from '../pages/page.ts'
import { type Completeness, nameSome } from '../source-report.ts'
import { type Change, type ChangesView, changeOf, shownNow, UNKNOWN, viewOf } from './change-of.ts'
import { bitOf, type FeedPosition, goneError, openPosition, sealPosition } from './feed-position.ts'
import type { StoredLog } from './stored-log.ts'

/** Entries of the reader's sources that are looked at in one turn of the event loop, and for one answer. */
const TURN = 100
const MAX_SCANNED = 5000
/** Others that take as long as one of these. */
const PASSED_BY = 100
/** Positions behind which nothing of their reader was found. */
const MAX_QUIET = 1000
/** Wait for what another replica has read of the log. */
const READ_MS = 1000

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
  sources: () => Completeness
}

export type ChangesSettings = MarketSettings & { stored: StoredLog; reads: SharedReads }

/** By what they read: a change wakes many readers of one query at one position. */
type SharedReads = {
  running: Map<string, Promise<EntriesRead>>
  /** Up to where nothing of the reader was found. */
  quiet: Map<string, number>
}

/** Rejects with an EntrepotError: `bad_request` or `gone` for `since`, `unavailable` where the log cannot be read up to it. */
export async function followChanges(
  settings: ChangesSettings,
  checked: CheckedQuery,
  since: string | null,
): Promise<Following> {
  const { stored, sources } = settings
  const view = viewOf(sources, checked)
  const question = questionIn(stored, view)
  // Of the names by which reads are shared, many are kept.
  const digest = hash('sha256', question, 'base64url')
  const open = (text: string) => openPosition(text, question, stored.log.incarnation)
  const now = () => positionNow(settings, shownNow(settings, view).missing)
  const start = since ?? sealPosition(now(), question, stored.log.incarnation)
  let latest = { incarnation: stored.log.incarnation, text: start, position: open(start) }
  if (latest.position.position > stored.log.end) await readBehind(stored, checked.request.signal)
  checkPosition(settings, view, latest.position)
  return {
    position: start,
    read: async (text, limit) => {
      for (const { prepare } of view.ranked) prepare(undefined, checked.request.signal)
      const { incarnation } = stored.log
      if (latest.text !== text || latest.incarnation !== incarnation)
        latest = { incarnation, text, position: open(text) }
      const from = latest.position
      checkPosition(settings, view, from)
      if (from.position === stored.log.end && from.caughtUpTo === from.position)
        return { changes: [], hasMore: false, position: text }
      const { position, ...read } = await readTogether(settings, view, { digest, from, limit })
      if (position === null) return { ...read, position: text }
      return { ...read, position: sealPosition(position, question, stored.log.incarnation) }
    },
    onAdvance: (notify) => stored.advanced.listen(notify),
    sources: () => describeSources(settings, view),
  }
}

/** Another replica may have read further. */
function readBehind(stored: StoredLog, caller: AbortSignal): Promise<void> {
  const timeoutError = () =>
    new EntrepotError('unavailable', 'The changes up to that position are not here yet: ask again')
  return withDeadline({ ms: READ_MS, timeoutError, caller }, (signal) => raceAbort(stored.read(), signal))
}

/** The position of now, for a reading that begins: to be sealed beside its cursor, and whether it is still good. */
export function currentPosition(
  settings: ChangesSettings,
  question: Question,
): { seal: () => string; isGood: () => boolean } {
  const { stored, sources } = settings
  const { log } = stored
  const view = viewOf(sources, question)
  const { missing } = shownNow(settings, view)
  const now = positionNow(settings, missing)
  const { incarnation } = log
  return {
    seal: () => sealPosition(now, questionIn(stored, view), incarnation),
    isGood: () =>
      log.incarnation === incarnation &&
      log.reachesBack(now.position) &&
      shownNow(settings, view).missing === missing,
  }
}

function positionNow({ stored: { log }, clock }: ChangesSettings, missing: bigint): FeedPosition {
  const { end } = log
  return { position: end, caughtUpTo: end, missing, start: log.startBefore(end), at: clock.now() * 1000 }
}

function questionIn({ epoch }: StoredLog, { request, query, ranked }: ChangesView): string {
  const isOwn = ranked.every((source) => source.isOwn)
  // The sources say what follows from the gateways that it has passed.
  return questionOf([request.reader.digest, isOwn ? '' : epoch], { query, sources: ranked })
}

/** @throws EntrepotError `gone` */
function checkPosition(
  settings: ChangesSettings,
  view: ChangesView,
  { position, missing, start }: Pick<FeedPosition, 'position' | 'missing' | 'start'>,
): void {
  const { log } = settings.stored
  if (!log.reachesBack(position)) throw goneError('is too old')
  const known = log.startBefore(position)
  if (known !== '' && known !== start) throw goneError('is of changes that the store has lost')
  if ((missing & ~shownNow(settings, view).missing) !== 0n)
    throw goneError('is of a reading that lacked a source, which answers again')
  for (const { name } of view.ranked)
    if ((log.latest(name, WHOLE_SOURCE)?.position ?? 0) > position)
      throw goneError(`is older than what is held of ${name}`)
}

/** `position`: `null` for that from which was read, where nothing of the reader has changed since. */
type EntriesRead = Omit<Changes, 'position'> & { position: FeedPosition | null }

function readTogether(
  settings: ChangesSettings,
  view: ChangesView,
  { digest, from, limit }: { digest: string; from: FeedPosition; limit: number },
): Promise<EntriesRead> {
  const { stored, reads } = settings
  const { position, caughtUpTo, missing } = from
  // The digest leaves out which gateways a query has passed, and these decide which sources it reads.
  const asked = [
    stored.log.incarnation,
    digest,
    position,
    caughtUpTo,
    missing,
    ...(view.query.via ?? []),
  ].join(' ')
  const key = `${limit} ${asked}`
  const running = reads.running.get(key)
  if (running !== undefined) return running
  const quietTo = Math.max(position, reads.quiet.get(asked) ?? 0)
  const read = readEntries(settings, view, { ...from, position: quietTo }, limit)
    .then((found) => {
      if (!isQuiet(settings, from, found)) return found
      keepLatest(reads.quiet, asked, found.position.position, MAX_QUIET)
      return { ...found, position: null }
    })
    .finally(() => reads.running.delete(key))
  reads.running.set(key, read)
  return read
}

/** What others change moves no position of the reader, until it is half as old as it may get. */
function isQuiet(
  { stored, clock }: ChangesSettings,
  from: FeedPosition,
  { changes, hasMore, position: { missing } }: FoundEntries,
): boolean {
  const isOld = Math.abs(clock.now() * 1000 - from.at) > stored.retentionMs / 2
  const isCaughtUp = from.caughtUpTo === from.position
  return changes.length === 0 && !hasMore && missing === from.missing && isCaughtUp && !isOld
}

type FoundEntries = EntriesRead & { position: FeedPosition }

async function readEntries(
  settings: ChangesSettings,
  view: ChangesView,
  from: FeedPosition,
  limit: number,
): Promise<FoundEntries> {
  const { stored, clock } = settings
  const { log } = stored
  const { incarnation } = log
  const bounds = await settings.boundsOf(view.request.reader)
  const rankOf = new Map(view.ranked.map(({ name }, rank) => [name, rank]))
  const changes: Change[] = []
  let { position, missing } = from
  let hasMore = false
  for (let scanned = 0; ; ) {
    if (log.incarnation !== incarnation) throw goneError('is one of a log that was lost')
    checkPosition(settings, view, { position, missing, start: log.startBefore(position) })
    const looking = { ...settings, bounds, now: shownNow(settings, view), shown: new Map() }
    let work = 0
    for (const entry of log.after(position)) {
      const rank = rankOf.get(entry.source)
      const change = rank === undefined ? null : changeOf(looking, view, entry, from.caughtUpTo)
      if (change === UNKNOWN) missing |= bitOf(rank!)
      else if (change !== null) {
        hasMore = changes.length === limit
        if (hasMore) break
        changes.push(change)
      }
      position = entry.position
      work += rank === undefined ? 1 / PASSED_BY : 1
      if (work >= TURN) break
    }
    if (!hasMore && work < TURN) position = Math.max(position, log.end)
    scanned += work
    if (scanned >= MAX_SCANNED) hasMore ||= position < log.end
    if (hasMore || position >= log.end) {
      const caughtUpTo = hasMore ? from.caughtUpTo : position
      const at = clock.now() * 1000
      return {
        changes,
        hasMore,
        position: { position, caughtUpTo, missing, start: log.startBefore(position), at },
      }
    }
    await nextTurn()
  }
}

function describeSources(settings: ChangesSettings, view: ChangesView): Completeness {
  const { query } = view
  const answers = new Map(
    askNow(settings, query, view.request).answers.map((one) => [one.source, one.answer]),
  )
  const groups = settings.sources
    .filter((source) => answers.has(source))
    .map((source): [SourceNote, ...SourceNote[]] => {
      const [note, ...gaps] = currentNotes(source)
      return [
        describe(note!, answers.get(source)),
        ...gaps,
        ...(query.status === null ? notOpenIn(source) : []),
      ]
    })
  return { complete: groups.flat().every(({ state }) => hasAnswered(state)), ...nameSome(groups, settings) }
}

function notOpenIn({ name, isOwn }: Holding): readonly SourceNote[] {
  if (isOwn) return []
  return NOT_OPEN.map(({ registry, state, reason }) => ({ registry: `${name}/${registry}`, state, reason }))
}

/** @param answer may be why the source does not answer this query, such as for closed listings */
function describe({ registry, state, reason, held, of }: SourceNote, answer: unknown): SourceNote {
  if (answer instanceof SourceError && hasAnswered(state))
    return { registry, state: answer.traits.state, reason: answer.reason }
  return { registry, state, ...(reason !== undefined && { reason }), ...(of !== undefined && { held, of }) }
}

function currentNotes({ health }: MarketSource): readonly SourceNote[] {
  const notes = health(AbortSignal.abort())
  if (notes instanceof Promise) throw new EntrepotError('internal', 'a source that is followed is held')
  return notes
}
