import { endOfMs } from '../../../src/domain/timestamp.ts'
import type { Answer } from './ask.ts'
import type { Held } from './items.ts'
import { listingsOf, mayBeOutlier } from './model.ts'
import { isDoubtful, type Window } from './window.ts'

/** Compares an answer with the model where nothing changed: which listings, in which order. */
export function judgeExactly(window: Window, answer: Answer, held: readonly Held[]): string[] {
  const { question, pages, offset, isToEnd } = answer
  const { paths, history } = window
  const cap = endOfMs(pages[0]!.begin.at)
  const hasFuture = [...window.listings.values()].some(({ copies }) =>
    copies.some(({ version }) => version.createdAt > cap - MAX_WALK),
  )
  // The order by price takes dates of the future as they are.
  if (hasFuture && (question.isByPrice || endOfMs(pages.at(-1)!.end.at) !== cap)) return []
  const sequence = listingsOf(paths, history.versions, question, cap)
  const isOutlier = ({ version: { terms } }: Pick<Held, 'version'>): boolean =>
    question.isByPrice && mayBeOutlier(terms)
  // The place of an unchecked item is that of a copy that does not count, and it may come again. Outliers may be last.
  const isElsewhere = (one: Held): boolean => one.item.unchecked.length > 0 || isOutlier(one)
  const elsewhere = new Set(held.filter(isElsewhere).map(({ version }) => version.key))
  // Of the listings before the offset no more than a page's worth is looked up in a source that is too large.
  if (offset > 0 && (elsewhere.size > 0 || paths.some((path) => isDoubtful(window, path)))) return []
  if ((offset > 0 || !isToEnd) && sequence.some(({ copies: [best] }) => isOutlier(best!))) return []
  const expected = sequence.map(({ key }) => key).filter((key) => !elsewhere.has(key))
  const keys = held.map(({ version }) => version.key).filter((key) => !elsewhere.has(key))
  const end = isToEnd ? expected.length : Math.min(expected.length, offset + keys.length)
  for (let n = 0; n < Math.max(keys.length, end - offset); n++) {
    const [key, other] = [keys[n], expected[offset + n]]
    if (!isSameOrTied(key, other)) return [`at ${offset + n} is ${key}, not ${other}`]
  }
  return []
}

/** Listings of one id and one instant behind one gateway are in no order. */
function isSameOrTied(a: string | undefined, b: string | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && idOf(a) === idOf(b))
}

function idOf(key: string): string {
  return key.slice(key.lastIndexOf(' '))
}

/** Longer than a walk takes: dates that are in the future when it begins, or were shortly before. */
const MAX_WALK = 600_000_000
