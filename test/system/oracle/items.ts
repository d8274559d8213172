import type { Shown } from './ask.ts'
import type { Publisher, Version } from './history.ts'
import { isAsked, isMatch, isSameOffer, type Path, priceOf, wholeTokens } from './model.ts'
import { type Candidate, isNamed, overlaps, type Window } from './window.ts'

/** An item, and what it was at its Registry. */
export type Held = { item: Shown; path: Path; version: Version }

/** Every item is what its Registry held at some time of the window, and matches. */
export function findHeld(
  window: Window,
  items: readonly Shown[],
): { held: Held[]; nameless: Held[]; faults: string[] } {
  const { question, history, paths, since, end } = window
  const held: Held[] = []
  const nameless: Held[] = []
  const faults: string[] = []
  for (const item of items) {
    const path = paths.find(({ shownAs }) => shownAs === item.registry)
    const versions = path === undefined ? [] : history.of(path.registry, item.listingId)
    const same = versions.filter(({ text }) => text === item.text)
    const version = same.find((one) => overlaps(one, since.get(path!)!, end))
    if (version === undefined) {
      const times = same.map(
        ({ since: from, until }) => `${from.at - end.at} to ${(until?.at ?? 0) - end.at} ms`,
      )
      faults.push(
        `${item.registry} did not hold ${item.listingId} then, but ${times.join(', ')}: ${item.text}`,
      )
    } else if (isNewSeller(window, { item, path: path!, version }))
      nameless.push({ item, path: path!, version })
    else if (isMatch(question, { path: path!, version })) held.push({ item, path: path!, version })
    else faults.push(`${item.listingId} does not match: ${item.text}`)
  }
  return { held, nameless, faults }
}

/** A publisher that the Registry has just named may be unknown yet: then the item is another listing. */
function isNewSeller({ listings }: Window, { item, path, version }: Held): boolean {
  if (item.publisher !== null || !isNamed(version)) return false
  return ![...listings.values()].some(({ copies }) =>
    copies.some(
      (copy) =>
        copy.path === path && copy.isSteady && isSameSeller(copy.version.publisher, version.publisher),
    ),
  )
}

function isSameSeller(a: Publisher, b: Publisher): boolean {
  return a.address === b.address && a.storefrontUrl === b.storefrontUrl
}

/** What an item says about other copies of its listing, and about listings of the same id. */
export function judgeItem(window: Window, held: Held): string[] {
  const { item } = held
  const name = `${held.version.key} of ${item.registry}`
  return [
    ...judgeBest(window, held),
    ...judgeNames(window, held),
    ...judgeDiffers(window, held),
    ...judgeConflict(window, held),
    ...judgeUnchecked(window, held),
    ...judgeNotIn(window, held),
    ...judgePrice(held),
  ].map((fault) => `${name} ${fault}`)
}

/** A better source that held the listing all the time decides. */
function judgeBest(window: Window, { path, version }: Held): string[] {
  const better = copiesOf(window, version).find((copy) => copy.isSteady && copy.path.rank < path.rank)
  return better === undefined ? [] : [`is shown, but ${better.path.shownAs} is better`]
}

function copiesOf({ listings }: Window, { key }: Version): readonly Candidate[] {
  return listings.get(key)!.copies
}

/** Open copies in other sources: no other ones, and all that have to be known. */
function judgeNames(window: Window, { item, path, version }: Held): string[] {
  const { question, history, paths } = window
  const missing = knownOthers(window, { item, path, version })
    .map((copy) => copy.path.shownAs)
    .filter((shownAs) => question.status === 'open' && !item.alsoIn.includes(shownAs))
  const isThere = (name: string): boolean => {
    const { registry } = paths.find(({ shownAs }) => shownAs === name) ?? {}
    if (registry === undefined || name === item.registry) return false
    return history.of(registry, item.listingId).some((other) => mayBeSame(other, version))
  }
  return [
    ...missing.map((name) => `is also in ${name}, not only in ${item.alsoIn}`),
    ...item.alsoIn.filter((name) => !isThere(name)).map((name) => `is not in ${name}`),
  ]
}

/** A gateway sends a listing without its publisher where the Registry has just met that publisher. */
function mayBeSame(other: Version, version: Version): boolean {
  if (other.key === version.key) return true
  return !isNamed(version) && other.publisher.storefrontUrl === version.publisher.storefrontUrl
}

/** Other copies of the asked status that were held all the time. Of another gateway, only its best copy is. */
function knownOthers(window: Window, { path, version }: Held): Candidate[] {
  return copiesOf(window, version).filter((copy, n, copies) => {
    const isBest = copies.findIndex((one) => one.path.source === copy.path.source) === n
    return (
      copy.path !== path &&
      copy.isSteady &&
      isAsked(window.question, copy) &&
      (isBest || copy.path.source === path.source)
    )
  })
}

function judgeDiffers(window: Window, held: Held): string[] {
  const { item, path, version } = held
  const isOther = (copy: Candidate): boolean => !isSameOffer(copy.version, version)
  const others = copiesOf(window, version).filter((copy) => copy.path !== path)
  const isNameless = !isNamed(version) && item.alsoIn.length > others.length
  if (isNameless) return []
  // A worse copy behind a gateway may differ from the one that decides there.
  if (item.differs && window.question.status === 'open' && !others.some(isOther) && !path.isBehind)
    return ['differs from no copy']
  return !item.differs && knownOthers(window, held).some(isOther) ? ['differs'] : []
}

/** With a listing of the same id that has the asked status at its best source. */
function judgeConflict(window: Window, { item, version }: Held): string[] {
  const { question, byId } = window
  const isListed = (copy: Candidate): boolean => isAsked(question, copy)
  const others = byId
    .get(item.listingId)!
    .filter(({ key }) => key !== version.key)
    .map(({ copies }) => copies)
  const isUncertain = copiesOf(window, version).some(({ isSteady }) => !isSteady)
  if (item.conflict && question.status === 'open' && !isUncertain && !others.flat().some(isListed))
    return ['conflicts with no listing']
  const isKnownHere = (copies: readonly Candidate[]): boolean =>
    copies.every(isListed) && copies.some((copy) => copy.isSteady)
  return !item.conflict && others.some(isKnownHere) ? ['conflicts'] : []
}

/** A better source in memory is named if it has the publisher, and nothing of this id. */
function judgeNotIn(window: Window, { item, path, version }: Held): string[] {
  const { question, history, paths, pathsOfSeller } = window
  if (question.status !== 'open') return []
  const better = paths.filter(({ rank }) => rank < path.rank)
  const isLacking = (one: Path): boolean => history.of(one.registry, item.listingId).length === 0
  const isNeeded = (one: Path): boolean =>
    isWhole(window, one) &&
    !one.isBehind &&
    isLacking(one) &&
    pathsOfSeller.get(version.publisher.address)?.has(one) === true
  const missing =
    path.isBehind || !isNamed(version) ? [] : better.filter(isNeeded).map(({ shownAs }) => shownAs)
  const had = copiesOf(window, version)
    .filter((copy) => copy.isSteady)
    .map((copy) => copy.path.shownAs)
  return [
    ...item.notIn
      .filter((name) => had.includes(name))
      .map((name) => `counts as not in ${name}, which has it`),
    ...item.notIn
      .filter((name) => !better.some(({ shownAs }) => shownAs === name))
      .map((name) => `counts as not in ${name}, which is not better`),
    ...missing.filter((name) => !item.notIn.includes(name)).map((name) => `does not count as not in ${name}`),
  ]
}

function isWhole({ holdings }: Window, path: Path): boolean {
  return holdings.get(path) === 'whole'
}

/**
 * The better sources that are not held whole. What a gateway behind it sent of one that is held in part at times stays until it is
 * sent again.
 */
function judgeUnchecked(window: Window, { item, path }: Held): string[] {
  const better = window.paths.filter(({ rank }) => rank < path.rank)
  const isNamedBy = ({ source, shownAs }: Path): boolean =>
    item.unchecked.some((name) => name === source || name === shownAs)
  const names = better
    .filter((one) => !isWhole(window, one) || one.isBoundedBehind)
    .flatMap(({ source, shownAs }) => [source, shownAs])
  return [
    ...item.unchecked.filter((name) => !names.includes(name)).map((name) => `is unchecked in ${name}`),
    ...better
      .filter((one) => one.source !== path.source && window.lacking.has(one.source) && !isNamedBy(one))
      .map(({ shownAs }) => `is not unchecked in ${shownAs}`),
  ]
}

function judgePrice({ item, version }: Held): string[] {
  const price = priceOf(version.terms)
  const expected = price === null ? null : wholeTokens(price)
  return item.price === expected ? [] : [`has the price ${item.price}, not ${expected}`]
}
