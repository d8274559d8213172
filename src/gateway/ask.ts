import { raceAbort } from '../domain/clock.ts'
import type { ListingQuery } from '../domain/query.ts'
import { keepLatest } from '../domain/remembered.ts'
import type { HeldAnswer, Holding } from '../domain/source/holding.ts'
import { DIRECTORY, joinMissing } from '../domain/source/missing-source.ts'
import { SourceError } from '../domain/source/source-error.ts'
import { inTurns } from '../domain/turns.ts'
import { EntrepotError } from '../errors.ts'
import type { Criterion } from '../filter-spec/filter.ts'
import type { Copy } from '../listing-index/copy.ts'
import type { CopyMatches } from '../listing-index/copy-matches.ts'
import type { CopyConditions, JudgedFilters } from '../listing-index/match.ts'
import { SourceSet } from '../listing-index/source-set.ts'
import { type Asked, type Asker, type Asking, type Outcome, type SourceAnswer, withBudget } from './asking.ts'
import type { MarketSettings } from './market-settings.ts'
import { visibleSources } from './sources.ts'

/** Of each upstream, where the query has come back. */
export const LOOP = new SourceError('loop', 'the query has been through this gateway before')

/** Sources that hold only what was asked bring it first, in the time of the question. @throws EntrepotError `bad_request` */
export async function ask(settings: MarketSettings, { query, request }: Asking): Promise<Asked> {
  const startedAt = performance.now()
  const late = await bringAll(settings, { query, request })
  const asked = askNow(settings, query, request)
  if (late === null) return { ...asked, startedAt }
  const answers = asked.answers.map((one) => {
    const isMissing = one.answer instanceof SourceError && one.answer.reason === 'not_yet_loaded'
    return isMissing && one.source.fetch !== undefined ? { ...one, answer: late } : one
  })
  return { ...asked, answers, startedAt }
}

/** @returns why those that have not ended are late */
async function bringAll(settings: MarketSettings, { query, request }: Asking): Promise<SourceError | null> {
  const { budgetMs, signal: caller } = request
  const bringing = visibleSources(settings.sources, request).flatMap(({ fetch }) => fetch ?? [])
  if (bringing.length === 0) return null
  try {
    await withBudget(budgetMs, caller, async (signal) => {
      await raceAbort(Promise.all(bringing.map((fetch) => fetch(query, signal))), signal)
    })
    return null
  } catch (error) {
    if (error instanceof SourceError) return error
    throw error
  }
}

/** Of what is held now. @throws EntrepotError `bad_request` */
export function askNow(settings: MarketSettings, query: ListingQuery, request: Asker): Asked {
  const { ranking } = settings
  const { sources, ...answered } = answersTo(settings, query, request)
  const scope = { ranking, sources, standing: request.reader.filter, via: query.via }
  return { query, scope, ...answered, startedAt: performance.now() }
}

/** What the sources of a question say. It depends on few parts of the question. */
type Kept = Omit<Asked, 'query' | 'scope' | 'startedAt'> & { sources: SourceSet; at: number }

/** By ranking, for the latest such parts. */
const KEPT = new WeakMap<MarketSettings['ranking'], Map<string, Kept>>()
const MAX_KEPT = 16
/** Ages of what a gateway lacks are whole seconds. */
const MAX_KEPT_MS = 1000

/** Each source is asked once for all questions that are alike, until it says something else. */
function answersTo(settings: MarketSettings, query: ListingQuery, request: Asker): Kept {
  const { ranking } = settings
  const { reader, named = null, isLoop = false } = request
  const { status, publisher, via = [] } = query
  const name = JSON.stringify([reader.view, reader.digest, named, isLoop, status, publisher === null, via])
  const kept = KEPT.get(ranking) ?? new Map<string, Kept>()
  KEPT.set(ranking, kept)
  const before = kept.get(name)
  if (before !== undefined && isStillSaid(settings, query, before)) return before
  const answered = askAll(settings, query, request)
  keepLatest(kept, name, answered, MAX_KEPT)
  return answered
}

function isStillSaid(
  settings: MarketSettings,
  query: ListingQuery,
  { answers, sources, version, at }: Kept,
): boolean {
  const now = settings.clock.monotonic()
  if (now < at || now - at >= MAX_KEPT_MS) return false
  if (versionOf(settings, sources) !== version) return false
  return answers.every(({ source, answer }) => {
    if (!(answer instanceof SourceError)) return answer.isCurrent(now)
    if (answer === LOOP) return true
    const again = answerOf(source, query)
    return again instanceof SourceError && again.reason === answer.reason && again.missing === answer.missing
  })
}

function askAll(settings: MarketSettings, query: ListingQuery, request: Asker): Kept {
  const { ranking, rules, clock } = settings
  const answers = visibleSources(settings.sources, request).map((source): SourceAnswer => {
    const isSkipped = request.isLoop === true && !source.isOwn
    const answer = isSkipped ? LOOP : answerOf(source, query)
    return { source, rank: ranking.ranks.get(source.name)!, answer }
  })
  const bySource = new Map<number, Holding>()
  const stale = new Set<number>()
  for (const one of answers) {
    const { source, answer } = one
    if (answer instanceof SourceError) continue
    bySource.set(answer.source, source)
    if (answer.stale) stale.add(answer.source)
    // A copy that may be of a denied publisher, or cannot be signed without one, is left out.
    const isUnsure = ranking.groupBy === 'id' && answer.isAttributed === false
    if (isUnsure || rules.hidesUnknown(source.name, answer.source))
      one.answer = { ...answer, missing: joinMissing(answer.missing, DIRECTORY) }
  }
  const sources = new SourceSet(bySource.keys())
  const [unknown, version] = [namesOf(answers.filter(mayHaveMore)), versionOf(settings, sources)]
  return { answers, bySource, stale, unknown, version, sources, at: clock.monotonic() }
}

export const byRank = (answers: Asked['answers']) => answers.toSorted((a, b) => a.rank - b.rank)

export function namesOf(answers: Asked['answers']): Asked['unknown'] {
  return byRank(answers).map(({ source, rank }) => ({ name: source.name, rank }))
}

export function versionOf({ index, ranking }: MarketSettings, sources: SourceSet): string {
  return `${index.versionOf(sources)} ${ranking.version}`
}

function answerOf(source: Holding, query: ListingQuery): HeldAnswer | SourceError {
  try {
    return source.answer(query)
  } catch (error) {
    if (error instanceof SourceError) return error
    throw error
  }
}

function mayHaveMore({ source, answer }: SourceAnswer): boolean {
  return answer instanceof SourceError ? answer.traits.state !== 'skipped' : source.coverage() !== 'whole'
}

/** All that match. Rejects as `whileLearning` does. */
export function matchesOf(
  settings: MarketSettings,
  asked: Asked,
  lanes?: CopyConditions['lanes'],
): Promise<CopyMatches> {
  return whileLearning(settings.index.match(asked.scope, { ...conditionsOf(settings, asked), lanes }))
}

/** Rejects with an EntrepotError `unavailable` while the index learns a filter, and too many listings would be read for it. */
export async function whileLearning<T>(steps: Generator<unknown, T>, caller?: AbortSignal): Promise<T> {
  try {
    return await inTurns(steps, caller)
  } catch (error) {
    if (error instanceof SourceError) throw new EntrepotError('unavailable', error.message)
    throw error
  }
}

function conditionsOf({ index, ranking }: MarketSettings, { query, answers }: Asked): CopyConditions {
  const { status, criteria, priceLimit, publisher } = query
  const principals = ranking.groupBy === 'id' ? criteria.filter(isOfPrincipals) : []
  const judgedBy = new Map<number, JudgedFilters>()
  for (const { source, answer } of answers) {
    if (answer instanceof SourceError) continue
    const { judged, source: number } = answer
    if (judged !== undefined) judgedBy.set(number, new Map(Array.from(judged, (name) => [name, null])))
    const { sellersWith } = source
    if (sellersWith === undefined || principals.length === 0) continue
    const sellers = sellersWith(principals)
    judgedBy.set(number, new Map(principals.map(({ filter }) => [filter.name, sellers])))
  }
  const conditions = { status, criteria, priceLimit, ...(judgedBy.size > 0 && { judgedBy }) }
  return publisher === null ? conditions : { ...conditions, sellers: index.sellers.numbersOf(publisher) }
}

/** Rows of the own Registry lack the member, which readers of the signed line get. */
function isOfPrincipals({ filter: { compiled } }: Criterion): boolean {
  const [first] = compiled
  return first?.kind === 'member' && first.name === 'publisher_principals'
}

/** Of the copy's source. */
export function nameIn({ bySource }: Asked, { source }: Pick<Copy, 'source'>): string {
  return bySource.get(source)!.name
}

/** How each source answered, with its counts of the matches. `whole`: the matches of the only source, of which the answer lacks nothing. */
export function outcomesOf(
  { answers, startedAt }: Asked,
  matches: CopyMatches,
  whole?: number | undefined,
): readonly Outcome[] {
  const elapsedMs = performance.now() - startedAt
  const counts = matches.bySource()
  return answers.map((one): Outcome => {
    const { answer } = one
    if (answer instanceof SourceError) return { ...one, elapsedMs, matched: 0 }
    if (whole === undefined) return { ...one, elapsedMs, matched: counts.get(answer.source)?.matched ?? 0 }
    return { ...one, answer: { ...answer, part: undefined, reason: undefined }, elapsedMs, matched: whole }
  })
}
