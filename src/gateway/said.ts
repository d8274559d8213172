import { joinGaps } from '../domain/gap.ts'
import type { Page } from '../domain/page.ts'

/**
 * What a source that is read on has said so far: the first page tells how many there are, of later ones only what is
 * worse is told. Their items are not kept.
 */
export const saidSoFar = (before: Page | null, page: Page): Page => {
  const said = before ?? { ...page, items: [], invalid: 0 }
  const invalid = (said.invalid ?? 0) + (page.invalid ?? 0)
  const worse = page.stale || said.cache?.outcome === 'hit' ? page : said
  const { stale, reason, cache } = worse
  const gaps = joinGaps(said.gaps, page.gaps)
  return {
    items: [],
    total: said.total,
    ageSeconds: Math.max(said.ageSeconds, page.ageSeconds),
    stale,
    ...(reason === undefined ? {} : { reason }),
    ...(cache === undefined ? {} : { cache }),
    ...(invalid === 0 ? {} : { invalid }),
    ...(gaps === undefined ? {} : { gaps }),
    ...(said.explanation === undefined ? {} : { explanation: said.explanation }),
    ...(page.find === undefined ? {} : { find: page.find }),
  }
}
