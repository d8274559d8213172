import { type MergedItem, merge, type SourceAnswer } from '../domain/merge.ts'
import type { Item, Page } from '../domain/page.ts'
import { inSpan, type Trace } from '../domain/trace.ts'
import { comparePlaces, placeIn, placeOf, rankSources } from './place.ts'

type Merged = { items: MergedItem[]; total: number; isShort: boolean }

/**
 * The first `limit` listings of all answers, each of which holds as many. A source that is known whole is asked for
 * copies of what would be shown: one may lie far behind, since every Registry dates its own, and where the better copy
 * is found is the listing's place. `isShort`: so much belongs further back that these answers do not reach far enough.
 */
export const mergeWithCopies = (
  answers: readonly SourceAnswer[],
  limit: number,
  trace: Trace | undefined,
): Merged =>
  inSpan(
    trace,
    'merge',
    () => mergeUntilKnown(answers, limit),
    ({ items, total }) => ({ 'entrepot.merge.items': items.length, 'entrepot.merge.total': total }),
  )

/** Again and again, until what is shown has no copies that are not known. */
const mergeUntilKnown = (answers: readonly SourceAnswer[], limit: number): Merged => {
  // One that is alone may have been asked for its page only: what is not in it lies anywhere.
  if (answers.length === 1) return { ...merge(answers, { offset: 0, limit }), isShort: false }
  const looked = new Set<string>()
  for (let known = answers; ; ) {
    const merged = merge(known, { offset: 0, limit })
    const fresh = merged.items.map(({ item }) => item.listingId).filter((id) => !looked.has(id))
    for (const id of fresh) looked.add(id)
    const found = known.map(({ page }) => copiesBehind(page, fresh))
    if (found.every((copies) => copies.length === 0))
      return { ...merged, isShort: isShort(merged.items, answers, limit) }
    known = known.map(({ source, page }, n) => ({
      source,
      page: { ...page, behind: [...(page.behind ?? []), ...(found[n] ?? [])] },
    }))
  }
}

const copiesBehind = ({ items, find }: Page, listingIds: readonly string[]): readonly Item[] => {
  if (find === undefined) return NONE
  let copies = NONE
  for (const id of listingIds) {
    const found = find(id, items)
    if (found.length > 0) copies = [...copies, ...found]
  }
  return copies
}

const NONE: readonly Item[] = []

/** Whether a source that is known whole may have more that stands before the last of these. */
const isShort = (items: readonly MergedItem[], answers: readonly SourceAnswer[], limit: number): boolean => {
  const ranks = rankSources(answers.map(({ source }) => source))
  const last = items.at(limit - 1)
  return answers.some(({ source, page }) => {
    const end = page.items.at(-1)
    if (page.find === undefined || end === undefined || page.items.length >= page.total) return false
    if (last === undefined) return true
    return comparePlaces(placeOf(last, ranks), placeIn(end, ranks.get(source.name) ?? 0)) > 0
  })
}
