import { type Gap, joinGaps } from '../domain/gap.ts'
import type { Source } from '../domain/page.ts'
import type { FetchListings } from './fetch-listings.ts'

/** A gateway as a source that tells what the gateway itself says is missing, of all the pages that were read. */
export const withGaps =
  (fetch: FetchListings, read: (fetch: FetchListings) => Source): Source =>
  async (query, signal) => {
    let gaps: readonly Gap[] | undefined
    const noting: FetchListings = async (...asked) => {
      const page = await fetch(...asked)
      gaps = joinGaps(gaps, page.gaps)
      return page
    }
    const page = await read(noting)(query, signal)
    return gaps === undefined ? page : { ...page, gaps }
  }
