import { raceAbort } from '../../domain/clock.ts'
import type { ListingQuery } from '../../domain/query.ts'
import type { CopyQuery, ReadWhole } from '../../domain/source/held.ts'
import { FULL_RANGE, type Source } from '../../domain/source/reading.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { evaluateRun } from '../live-source.ts'
import type { PublisherDirectory } from '../publisher-directory.ts'
import type { Run } from '../reading/run.ts'
import type { RunCache, ServedRun } from '../reading/run-cache.ts'
import { UNFILTERED, type UpstreamQuery } from '../upstream-query.ts'

type WholeRunsOptions = {
  scanLimit: number
  /** Refuses a run of more than `scanLimit` listings with `scan_limit`. */
  runs: Pick<RunCache, 'read' | 'fresh'>
  publishers: PublisherDirectory
  /** @throws SourceError */
  checkSchema: () => Promise<void>
}

/**
 * Runs of all listings of a status, which decide about copies in worse sources. While one is fresh it answers every query
 * of that status, so that what decides and what is shown are of one moment. The same holds for the query that it was read
 * for, whatever its `caching`.
 */
export class WholeRuns {
  readonly #options: WholeRunsOptions
  readonly #readFor = new WeakMap<CopyQuery, Promise<ServedRun | null>>()

  constructor(options: WholeRunsOptions) {
    this.#options = options
  }

  readonly read: ReadWhole = async (query, signal) => {
    const reading = this.#read(query, signal)
    this.#readFor.set(
      query,
      reading.catch(() => null),
    )
    const served = await reading
    if (served === null) return null
    const { run } = served
    await this.#options.publishers.attribute(run.listings)
    return {
      find: (listingId) => run.find(listingId),
      ids: () => run.listings.values().map(({ listingId }) => listingId),
    }
  }

  /** Reads from `live` what no whole run answers. */
  before(live: Source): Source {
    return async (query, range, signal) => {
      const served = query.listingId === undefined ? await this.#find(query) : null
      if (served === null) return live(query, range, signal)
      const { publishers, checkSchema } = this.#options
      await checkSchema()
      const lacking = query.criteria.map(({ filter }) => filter.name)
      const unfiltered = { ...query, pushed: [] }
      return (
        (await evaluateRun({ served, publishers, lacking }, { query: unfiltered, range, signal })) ??
        live(query, range, signal)
      )
    }
  }

  async #read(query: CopyQuery, signal: AbortSignal): Promise<ServedRun | null> {
    const { runs, scanLimit, checkSchema } = this.#options
    await raceAbort(checkSchema(), signal)
    if (scanLimit === 0) return null
    try {
      return await runs.read(allOf(query), FULL_RANGE, signal)
    } catch (error) {
      if (error instanceof SourceError && error.reason === 'scan_limit') return null
      throw error
    }
  }

  async #find(query: ListingQuery): Promise<ServedRun | null> {
    const { runs, scanLimit } = this.#options
    // Pages may have left a longer run in the cache, but answers do not depend on pages.
    const isWhole = (run: Run) => run.isComplete && run.expected <= scanLimit
    return (await this.#readFor.get(query.madeOf ?? query)) ?? runs.fresh(allOf(query), isWhole)
  }
}

function allOf({ status, via, caching, trace }: CopyQuery): UpstreamQuery {
  return { ...UNFILTERED, status, ...(via && { via }), caching, trace }
}
