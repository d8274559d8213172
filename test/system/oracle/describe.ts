import type { Answer, FoundOne } from './ask.ts'
import type { FoundCounts } from './facets.ts'
import type { World } from './world.ts'

export type Result = Answer | FoundOne | FoundCounts

/** Most pages of a long answer that are printed. */
const MAX_PAGES = 8

/** What a wrong answer was made of: the world, the pages, and all copies of the listings that the fault names. */
export function describeAnswer(
  fault: string,
  result: Result,
  { plan, history }: Pick<World, 'plan' | 'history'>,
): string {
  const pages = 'pages' in result ? result.pages : []
  const { end } = 'pages' in result ? result.pages.at(-1)! : result
  const ids = new Set(fault.match(/\b\d{1,3}-\d+\b/g))
  const lines = [`  ${JSON.stringify(plan)}`]
  for (const { begin, items, total, sources } of pages.slice(0, MAX_PAGES)) {
    const states = sources.map(({ registry, matched, age_seconds: age }) => `${registry} ${matched} ${age} s`)
    lines.push(`  page at ${begin.at - end.at} ms: ${items.length} of ${total}, ${states.join(', ')}`)
  }
  for (const { registry, key, listingId, createdAt, status, terms, since, until } of history.versions) {
    if (!ids.has(listingId)) continue
    const from = `${since.at - end.at} to ${until === null ? 'now' : until.at - end.at} ms`
    const at = new Date(createdAt / 1000).toISOString()
    lines.push(`  ${registry} ${key} ${at} ${status} ${JSON.stringify(terms)} ${from}`)
  }
  for (const [n, { items }] of pages.entries())
    for (const [at, { listingId, registry, publisher, unchecked }] of items.entries())
      if (ids.has(listingId))
        lines.push(`  page ${n}, item ${at}: ${listingId} of ${registry} ${publisher} ${unchecked}`)
  return lines.join('\n')
}
