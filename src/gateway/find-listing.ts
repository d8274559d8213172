import type { Reader } from '../domain/api-key.ts'
import { withDeadline } from '../domain/deadline.ts'
import { type MergedItem, merge } from '../domain/merge.ts'
import type { NamedSource } from '../domain/page.ts'
import type { ListingQuery } from '../domain/query.ts'
import { SourceError } from '../domain/source-error.ts'
import { EntrepotError } from '../errors.ts'
import { type Asking, askOne, describeOutcomes, type Outcome, onlyLocal } from './fan-out.ts'
import { rankSources } from './place.ts'
import { nothingUsable } from './refuse-unusable.ts'
import { visibleSources } from './visible.ts'

export type FindListingOptions = { sources: readonly NamedSource[]; budgetMs: number }

/** `merged` is `null` only where every source that the reader may see has said that it has no such listing. */
export type Found = { merged: MergedItem | null; outcomes: readonly Outcome[] }

/** Asks for the listing that `query.listingId` names. */
export type FindListing = (
  query: ListingQuery & { listingId: string },
  reader: Reader,
  signal: AbortSignal,
  asking: Pick<Asking, 'named' | 'isLoop'>,
) => Promise<Found>

/**
 * One listing by its id: the local Registry's own, at once, else that of the upstream with the best priority that has
 * it. Upstreams are asked together, and those with a worse priority than the one that has it are not waited for.
 *
 * Where it was not found and not every source has said so, rejects with `source_incomplete`, or as `fanOut` does where
 * no source could answer, with what became of each.
 */
export const findListing =
  ({ sources, budgetMs }: FindListingOptions): FindListing =>
  async (query, reader, caller, { named, isLoop = false }) => {
    const visible = visibleSources(sources, reader, named)
    const asked = isLoop ? visible.map(onlyLocal) : visible
    const ranks = rankSources(asked)
    const ranked = asked.toSorted((a, b) => ranks.get(a.name)! - ranks.get(b.name)!)
    const isLocal = ({ mode }: NamedSource): boolean => mode === 'local'
    const outcomes: Outcome[] = []
    const late = new SourceError('timeout', `no answer within the budget of ${budgetMs} ms`)
    return withDeadline({ ms: budgetMs, late, caller }, async (signal) => {
      for (const group of [ranked.filter(isLocal), ranked.filter((source) => !isLocal(source))]) {
        const answers = group.map((source) => askOne(source, query, signal))
        for (const answer of answers) answer.catch(() => {}) // each is awaited below, or by nobody
        for (const answer of answers) {
          const outcome = await answer
          outcomes.push(outcome)
          const merged = itemOf(outcome)
          if (merged !== undefined) return { merged, outcomes }
        }
      }
      if (!isLoop) refuseUnknown(outcomes)
      return { merged: null, outcomes }
    })
  }

const itemOf = ({ source, result }: Outcome): MergedItem | undefined =>
  result instanceof SourceError
    ? undefined
    : merge([{ source, page: result }], { offset: 0, limit: 1 }).items[0]

const refuseUnknown = (outcomes: readonly Outcome[]): void => {
  const failed = outcomes.filter(({ result }) => result instanceof SourceError || result.gaps !== undefined)
  if (failed.length === 0 && outcomes.length > 0) return
  const { sources } = describeOutcomes(outcomes, new Map())
  if (failed.length === outcomes.length) throw nothingUsable(failed, sources, false)
  const names = sources
    .filter(({ state }) => state !== 'loaded' && state !== 'stale')
    .map(({ registry }) => registry)
    .join(', ')
  throw new EntrepotError(
    'source_incomplete',
    `Not found where it could be asked for, but ${names} could not be asked`,
    {
      members: { sources },
    },
  )
}
