/** `; did you mean X?`, or nothing. */
export function suggestName(name: string, names: Iterable<string>): string {
  const nearest = nearestName(name, names)
  return nearest === null ? '' : `; did you mean ${nearest}?`
}

/**
 * The known name that `name` is probably meant to be: it begins so, or at most a third of the characters differ. `null`:
 * none is near.
 */
export function nearestName(name: string, names: Iterable<string>): string | null {
  let nearest: string | null = null
  let least = Math.floor(name.length / 3) + 1
  for (const candidate of names) {
    const isBeginning = name.length > 2 && candidate.startsWith(name)
    const distance = isBeginning ? 1 : editDistance(name.toLowerCase(), candidate.toLowerCase(), least)
    if (distance >= least) continue
    least = distance
    nearest = candidate
  }
  return nearest
}

/** As `nearestName`, among values with the same words that have digits: neither `H300` nor `B200` is a misspelt `H200`. */
export function nearestValue(value: string, values: Iterable<string>): string | null {
  const [letters, codes] = [lettersIn(value), codesIn(value)]
  return nearestName(
    value,
    Array.from(values).filter((one) => codesIn(one) === codes || lettersIn(one) === letters),
  )
}

const lettersIn = (text: string): string => text.toLowerCase().replace(/[^\p{L}\d]/gu, '')

function codesIn(text: string): string {
  const words = text.toLowerCase().match(/[\p{L}\d]+/gu) ?? []
  return words.filter((word) => /\d/.test(word)).join(' ')
}

/** Whether one letter differs, is missing, is too much, or two neighbours changed places. */
export const isOneEdit = (a: string, b: string): boolean => editDistance(a, b, 2) === 1

/** Levenshtein's, where two neighbours that changed places are one edit; any number from `limit` on if it is not below it. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, n) => n)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swap = isSwap ? before[j - 2]! + 1 : change
      next.push(Math.min(change, swap, row[j]! + 1, next[j - 1]! + 1))
    }
    before = row
    row = next
  }
  return row[b.length]!
}
