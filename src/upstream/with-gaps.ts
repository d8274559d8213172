import type { Gap } from '../domain/gap.ts'
import type { Source } from '../domain/page.ts'
import type { FetchListings } from './fetch-listings.ts'

/** A gateway as a source that tells what the gateway itself says is missing, of all the pages that were read. */
export const withGaps =
  (fetch: FetchListings, read: (fetch: FetchListings) => Source): Source =>
  async (query, signal) => {
    const gaps = new Map<string, Gap>()
    let isComplete = true
    const noting: FetchListings = async (...asked) => {
      const page = await fetch(...asked)
      if (page.gaps !== undefined) isComplete = false
      for (const gap of page.gaps ?? []) gaps.set(gap.registry, gap)
      return page
    }
    const page = await read(noting)(query, signal)
    return isComplete ? page : { ...page, gaps: [...gaps.values()] }
  }
