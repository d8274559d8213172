import type { Answer, FoundOne } from './ask.ts'
import type { World } from './world.ts'

/** Most pages of a long answer that are printed. */
const MAX_PAGES = 8

/** What a wrong answer was made of: the world, the pages, and all copies of the listings that the fault names. */
export function describeAnswer(
  fault: string,
  result: Answer | FoundOne,
  { plan, history }: Pick<World, 'plan' | 'history'>,
): string {
  const pages = 'pages' in result ? result.pages : []
  const { end } = pages.at(-1) ?? (result as FoundOne)
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
    for (const [at, { listingId, registry, position }] of items.entries())
      if (ids.has(listingId))
        lines.push(`  page ${n}, item ${at}: ${listingId} of ${registry} at ${position}`)
  return lines.join('\n')
}
