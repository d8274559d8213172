import type { MissingSource } from '../domain/source/missing-source.ts'
import { type SourceReason, traitsOf } from '../domain/source/reasons.ts'
import { SourceError } from '../domain/source/source-error.ts'
import type { SourceStatus } from '../domain/source/source-status.ts'
import { EntrepotError } from '../errors.ts'
import {
  MANY_SOURCES,
  type SourceNote,
  type SourceReport,
  type SourceStatusJson,
  type SourcesCounted,
} from '../wire/source.ts'
import type { AskRequest, Outcome } from './asking.ts'
import type { MarketSettings } from './market-settings.ts'
import type { MergedItem } from './pages/merged-item.ts'

/** `complete`: every source that could contribute has answered, fresh or stale. */
export type Completeness = NamedSources<SourceNote> & { complete: boolean }

/** `sources`: in the order of the configuration, each followed by those that it reported as missing. */
export type Reports = NamedSources & {
  /** Whether every visible source answered, fresh or stale, and none reported a missing source. */
  complete: boolean
  outcomes: readonly Outcome[]
}

/** How a source answered; `detail`: of its failure, in a market that describes failures. */
export type Report = SourceReport & { detail?: string }

export function reportOutcomes(
  outcomes: readonly Outcome[],
  { clock, describeFailure }: Pick<MarketSettings, 'clock' | 'describeFailure'>,
  returned: ReadonlyMap<string, number> = new Map(),
): Reports {
  const now = clock.monotonic()
  const groups = outcomes.map((outcome): [Report, ...Report[]] => {
    const { source, answer } = outcome
    const { name } = source
    const report = reportOutcome(outcome, returned.get(name) ?? 0, now)
    if (describeFailure && answer instanceof SourceError) report.detail = describeFailure(answer, name)
    const { missing = [] } = answer
    return [report, ...missing.map((entry) => reportMissing(name, entry))]
  })
  return { complete: outcomes.every(isComplete), ...nameSome(groups, { describeFailure }), outcomes }
}

/**
 * Of many sources only the own Registry is named, those with items in the answer, and those with trouble, their own or that of a source
 * behind them. A buyer's own Registries, whose failures are described, are all named. @param groups each source, followed by what it lacks
 */
export function nameSome<Note extends SourceNote>(
  groups: readonly (readonly [Note, ...Note[]])[],
  { describeFailure }: Pick<MarketSettings, 'describeFailure'>,
): NamedSources<Note> {
  if (groups.length < MANY_SOURCES || describeFailure !== undefined) return { sources: groups.flat() }
  const sources: Note[] = []
  let loaded = 0
  let oldest: number | undefined
  for (const group of groups) {
    const [{ state, mode, returned, age_seconds: age }] = group
    if (group.length > 1 || state !== 'loaded' || mode === 'local' || returned) sources.push(...group)
    else {
      loaded++
      if (typeof age === 'number') oldest = Math.max(oldest ?? 0, age)
    }
  }
  const counted = { loaded, ...(oldest !== undefined && { age_seconds: oldest }) }
  return { sources, ...(loaded > 0 && { sourcesCounted: counted }) }
}

type NamedSources<Note = Report> = {
  sources: readonly Note[]
  /** Of many sources, those that `sources` does not name. */
  sourcesCounted?: SourcesCounted | undefined
}

/** The members of an answer about its sources. */
export function sourceMembers<Note>({ sources, sourcesCounted }: NamedSources<Note>) {
  return { sources, ...(sourcesCounted && { sources_counted: sourcesCounted }) }
}

export function countReturned(items: readonly { registry: string }[], counts = new Map<string, number>()) {
  for (const { registry } of items) counts.set(registry, (counts.get(registry) ?? 0) + 1)
  return counts
}

/** Items about which a better source could not be asked. */
export function countUnchecked(items: readonly Pick<MergedItem, 'unchecked'>[]): number {
  return items.reduce((count, { unchecked }) => count + Math.min(1, unchecked.length), 0)
}

export function isComplete({ answer }: Outcome): boolean {
  return !(answer instanceof SourceError) && answer.missing === undefined && answer.part === undefined
}

/** In whole seconds. */
export const ageOf = (asOf: number, now: number): number => Math.max(0, Math.floor((now - asOf) / 1000))

function reportOutcome(
  { source, answer, matched, elapsedMs }: Outcome,
  returned: number,
  now: number,
): Report {
  const { name: registry, isOwn } = source
  const { reason } = answer
  const mode = isOwn ? 'local' : undefined
  const elapsed_ms = Math.round(elapsedMs)
  if (!(answer instanceof SourceError)) {
    const { stale, asOf, invalid, part } = answer
    const age_seconds = isOwn ? 0 : ageOf(asOf, now)
    const state = part?.state ?? (stale ? 'stale' : 'loaded')
    const [held, of] = [part?.held, part?.of]
    return { registry, mode, state, matched, returned, held, of, age_seconds, elapsed_ms, reason, invalid }
  }
  const filters = answer.filters.length === 0 ? undefined : answer.filters
  const { state } = traitsOf(answer.reason)
  if (state === 'skipped') return { registry, mode, state, reason, filters, returned: returned || undefined }
  const why = state === 'unavailable' ? reason : undefined
  return { registry, mode, state, reason: why, matched: null, returned, elapsed_ms }
}

function reportMissing(gateway: string, { ageSeconds, ...missing }: MissingSource) {
  const { state, reason, held, of, via } = missing
  const age_seconds = ageSeconds === undefined ? undefined : Math.floor(ageSeconds)
  return {
    registry: `${gateway}/${missing.registry}`,
    state,
    reason,
    matched: null,
    returned: 0,
    held,
    of,
    age_seconds,
    via,
  }
}

/** An entry of `GET /sources`. */
export function reportStatus({
  name,
  mode,
  visibility,
  state,
  ageSeconds,
  lastError,
  ...rest
}: SourceStatus): SourceStatusJson {
  const { schemaId, filters, listings, missing, part } = rest
  return {
    registry: name,
    mode,
    visibility,
    state,
    age_seconds: ageSeconds === null ? null : Math.floor(ageSeconds),
    last_error: lastError && { reason: lastError.reason, at: timeOf(lastError.at) },
    schema_id: schemaId,
    filters,
    listings,
    held: part?.held,
    of: part?.of,
    gaps: missing?.map((entry) => {
      const { matched: _, returned: __, ...gap } = reportMissing(name, entry)
      return gap
    }),
  }
}

/** For agents: the source, and the sources that it lacks as a gateway. */
export function noteOnHealth(status: SourceStatus): SourceNote[] {
  const { filters: _, gaps = [], ...report } = reportStatus(status)
  const { state, last_error: error } = report
  const reason = state === 'partial' ? (error?.reason ?? 'too_large') : error?.reason
  return [{ ...report, reason: state === 'loaded' ? undefined : reason }, ...gaps]
}

/** ISO 8601, of ms since the Unix epoch. */
export function timeOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}

/**
 * Refuses an answer that a reader could mistake for "nothing found": from no source, or empty without any
 * upstream.
 * @throws EntrepotError `source_incomplete`, `unavailable` or `timeout`, with `sources` among its members
 */
export function assertAnswerable(
  { total, outcomes, ...reports }: Omit<Reports, 'complete'> & { total: number },
  { requireAll = false, isLoop = false }: Pick<AskRequest, 'requireAll' | 'isLoop'>,
): void {
  if (requireAll && reports.sources.some(({ state }) => state !== 'loaded'))
    throw incompleteError('Not every Registry has a current answer: see sources', reports)
  if (!outcomes.some(isUsable)) throw noSourceError(outcomes, reports, isLoop)
  // The gateway where the question began reads the sources itself that were skipped as a loop.
  const upstreams = outcomes.filter(
    (outcome) => !outcome.source.isOwn && !NOT_ASKED.includes(failureOf(outcome)),
  )
  if (total === 0 && upstreams.length > 0 && !upstreams.some(isUsable) && !isLoop)
    throw noSourceError(upstreams, reports)
}

const NOT_ASKED: readonly (SourceReason | null)[] = ['loop', 'open_only']

export function incompleteError(message: string, reports: NamedSources): EntrepotError {
  return new EntrepotError('source_incomplete', message, { members: sourceMembers(reports) })
}

export function noSourceError(
  failed: readonly Outcome[],
  reports: NamedSources,
  isLoop = false,
): EntrepotError {
  const members = sourceMembers(reports)
  if (isLoop) return new EntrepotError('loop', 'The query has been through this gateway before', { members })
  const isLate = failed.length > 0 && failed.every((outcome) => failureOf(outcome) === 'timeout')
  const isEmpty = reports.sources.some(({ state }) => state === 'loaded')
  const none = isEmpty ? 'Nothing matches here, and no upstream' : 'No Registry'
  return isLate
    ? new EntrepotError('timeout', `${none} answered in time: see sources`, { members })
    : new EntrepotError('unavailable', `${none} could answer: see sources`, { members })
}

/** `null` where sources cannot answer. */
export function unlessRefused<T>(answer: Promise<T>): Promise<T | null> {
  return answer.catch((cause: unknown) => {
    if (cause instanceof EntrepotError) return null
    throw cause
  })
}

function failureOf({ answer }: Outcome): SourceReason | null {
  return answer instanceof SourceError ? answer.reason : null
}

function isUsable(outcome: Outcome): boolean {
  return failureOf(outcome) === null
}
