import type { Answer } from './ask.ts'
import type { Held } from './items.ts'
import { type Copy, listingsOf, mayBeOutlier } from './model.ts'
import { heldNow, mayBeDecided, type Window } from './window.ts'

/** Compares an answer with the model where nothing changed: which listings, in which order. */
export function judgeExactly(window: Window, answer: Answer, items: readonly Held[]): string[] {
  const { question, offset, isToEnd, kind, pages } = answer
  const [cap, capAtEnd] = window.caps
  const isUnsure = [...window.listings.values()].some(({ copies }) =>
    copies.some(({ version: { createdAt } }) => createdAt > cap && createdAt <= capAtEnd),
  )
  if (isUnsure) return []
  const held = heldNow(window)
  if (held === null) return []
  const sequence = listingsOf(held, question, cap)
  // Outliers may be last, and behind them what a better source might decide about.
  const isElsewhere = ({ version: { terms }, path }: Copy): boolean =>
    question.isByPrice && (mayBeOutlier(terms) || mayBeDecided(window, path))
  const hasElsewhere = sequence.some(({ copies: [best] }) => isElsewhere(best!))
  if (hasElsewhere && (offset > 0 || !isToEnd)) return []
  // Marks follow a change of the market later: pages by offset may have other ones.
  if (hasElsewhere && kind === 'pages' && pages.length > 1) return []
  const inOrder = (keys: readonly string[]): string[] => keys.filter((key) => !elsewhere.has(key))
  const elsewhere = new Set(sequence.flatMap(({ key, copies: [best] }) => (isElsewhere(best!) ? key : [])))
  const expected = inOrder(sequence.map(({ key }) => key))
  const keys = inOrder(items.map(({ version }) => version.key))
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
