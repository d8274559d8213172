import type { Answer } from './ask.ts'
import type { Held } from './items.ts'
import { mayBeDecided, mayBeShown, placesOf, requiredCopy, type Window } from './window.ts'

/** The items of each page, with what they were at their Registries. */
type Pages = readonly (readonly Held[])[]

/** Pages by offset are judged one by one: between them anything may move. */
export function judgeOrder(window: Window, { kind, question }: Answer, pages: Pages): string[] {
  const sequences = kind === 'pages' ? pages : [pages.flat()]
  return sequences.flatMap((items) => {
    const checked = question.isByPrice ? items.filter(({ item }) => item.unchecked.length === 0) : items
    const at = checked.findIndex((held, n) => {
      const before = checked[n - 1]
      return before && placesOf(window, held.version)[1] < placesOf(window, before.version)[0]
    })
    return at === -1 ? [] : [`${keyAt(checked, at)} comes after ${keyAt(checked, at - 1)}`]
  })
}

function keyAt(items: readonly Held[], at: number): string {
  return items[at]!.version.key
}

/**
 * An answer repeats a listing only if a copy of it has changed, since sources are read at different times. A walk, and
 * the agents' tool page by page, repeat what was unchecked, too.
 */
export function judgeRepeats({ listings }: Window, { kind }: Answer, pages: Pages): string[] {
  const faults: string[] = []
  const before = new Set<string>()
  const unchecked = new Set<string>()
  for (const items of pages) {
    const onPage = new Set<string>()
    for (const { item, version } of items) {
      const { key } = version
      if (item.unchecked.length > 0) unchecked.add(key)
      const isSteady = listings.get(key)!.copies.every((copy) => copy.isSteady)
      const isOneSequence = (kind === 'search' || kind === 'walk') && isSteady && !unchecked.has(key)
      if (onPage.has(key) && isSteady) faults.push(`${key} twice in one answer`)
      else if (isOneSequence && before.has(key)) faults.push(`${key} twice in one walk`)
      onPage.add(key)
    }
    for (const key of onPage) before.add(key)
  }
  return faults
}

/** Pages by offset that belong together are judged where nothing changed. */
export function judgeMissing(
  window: Window,
  answer: Answer,
  pages: Pages,
  nameless: readonly Held[],
): string[] {
  const { offset, isToEnd, kind, question } = answer
  if (kind === 'pages') return []
  const items = pages.flat()
  const shown = new Set([...items, ...nameless].map(({ version }) => version.key))
  const checked = items.filter(({ item }) => item.unchecked.length === 0)
  const [first, last] = [checked[0], checked.at(-1)].map((held) => held && placesOf(window, held.version))
  const isBehindFirst = (place: number): boolean => offset === 0 || (first !== undefined && place > first[1])
  const isBeforeLast = (place: number): boolean => isToEnd || (last !== undefined && place < last[0])
  const faults: string[] = []
  let before = 0
  for (const listing of window.listings.values()) {
    const copy = shown.has(listing.key) ? null : requiredCopy(window, listing)
    if (copy === null || (question.isByPrice && mayBeDecided(window, copy.path))) continue
    const [from, to] = placesOf(window, copy.version)
    if (isBehindFirst(from) && isBeforeLast(to))
      faults.push(`${listing.key} of ${copy.path.shownAs} is missing`)
    if (first !== undefined && to < first[0]) before++
  }
  if (before > offset) faults.push(`${before} listings are before offset ${offset}`)
  return faults
}

/** The later pages of a walk have the total of the first one. */
export function judgeCounts(window: Window, { pages, kind }: Answer): string[] {
  const isWalk = kind === 'walk' || kind === 'search'
  return pages.flatMap(({ items, unchecked, sources, total }, n) => {
    const returned = sources.reduce((sum, source) => sum + (source.returned ?? 0), 0)
    const count = items.filter((item) => item.unchecked.length > 0).length
    const isShort = kind === 'search' && n > 0
    return [
      ...(n > 0 && isWalk ? [] : judgeTotal(window, total)),
      ...(returned !== items.length && !isShort ? [`${returned} returned of ${items.length}`] : []),
      ...(unchecked !== count && !isShort ? [`unchecked is ${unchecked}, not ${count}`] : []),
    ]
  })
}

/** Whether of a page or of counts; `null` for a stream. */
export function judgeTotal(window: Window, total: number | null): string[] {
  if (total === null) return []
  const listings = [...window.listings.values()]
  const least = listings.filter((listing) => requiredCopy(window, listing) !== null).length
  const most = listings.filter((listing) => mayBeShown(window, listing)).length
  return total < least || total > most ? [`total is ${total} of ${least} to ${most}`] : []
}
