import type { Micros } from '../../../src/domain/timestamp.ts'
import type { Status, Terms, Version } from './history.ts'
import { INNER, OWN, type Plan, type Route } from './plan.ts'

export type Question = {
  /** `null` asks for every status. */
  status: Status | null
  publisher: string | null
  gpuModel: string | null
  gpuCountMin: number | null
  region: string | null
  /** Base units of USDC per GPU and hour. */
  priceMax: number | null
  isByPrice: boolean
  /** Names of the sources that are asked; `null` for all. */
  sources: readonly string[] | null
}

/**
 * One way on which listings of a Registry come to the reader. A gateway shows the best copy of those behind it, so the
 * ways are ranked as if there were one gateway only.
 */
export type Path = {
  /** As `sources` names it. */
  source: string
  registry: string
  /** As `_meta.registry` names it. */
  shownAs: string
  /** The best is 0. */
  rank: number
  /** Of the source. */
  sourceRank: number
  isBehind: boolean
  /** Whether it is behind a gateway that may hold it in part. */
  isBoundedBehind: boolean
  /** Of the gateway's own Registry, whose closed listings are known. */
  isOwn: boolean
}

export type Copy = { path: Path; version: Version }

/** The best copy decides: it is shown, filtered, priced, counted and put in order. */
export type Listing<C extends Copy = Copy> = {
  key: string
  listingId: string
  /** Best first. */
  copies: readonly C[]
}

/** The ways that a question asks, best first. Closed listings are asked of the own Registry alone. */
export function pathsOf(
  { outer, inner }: Pick<Plan, 'outer' | 'inner'>,
  { sources, status }: Question,
): Path[] {
  return ranked(outer)
    .filter(({ name }) => (sources?.includes(name) ?? true) && (status !== 'closed' || name === OWN))
    .flatMap(({ name: source }, sourceRank) => {
      const common = { source, sourceRank, rank: 0, isOwn: source === OWN, isBoundedBehind: false }
      if (source !== INNER) return [{ ...common, registry: source, shownAs: source, isBehind: false }]
      return ranked(inner).map(({ name, maxListings }) => ({
        ...common,
        registry: name,
        shownAs: `${INNER}/${name}`,
        isBehind: true,
        isBoundedBehind: maxListings !== null,
      }))
    })
    .map((path, rank) => ({ ...path, rank }))
}

/** By priority, then in the order of the configuration, the own Registry first. */
function ranked(routes: readonly Route[]): Route[] {
  return routes.toSorted((a, b) => a.priority - b.priority)
}

/** Whether a copy competes with others: closed ones do not with open ones, but for those of the own Registry. */
export function isCompeting(question: Question, copy: Copy): boolean {
  return isAsked(question, copy) || (copy.path.isOwn && question.status === 'open')
}

/** Of other Registries, only open listings are listed. */
export function isAsked({ status }: Question, { version, path }: Copy): boolean {
  if (version.odd !== undefined || (!path.isOwn && version.status !== 'open')) return false
  return status === null || version.status === status
}

export function isMatch(question: Question, copy: Copy): boolean {
  const { publisher, gpuModel, gpuCountMin, region, priceMax } = question
  const { terms, publisher: seller } = copy.version
  const price = priceOf(terms)
  return (
    isAsked(question, copy) &&
    (publisher === null || seller.address === publisher) &&
    (gpuModel === null || terms.gpu_model === gpuModel) &&
    (gpuCountMin === null || terms.gpu_count >= gpuCountMin) &&
    (region === null || terms.region === region) &&
    (priceMax === null || (price !== null && price <= priceMax))
  )
}

/** Base units per GPU and hour. Equal quotients of such small integers are equal numbers. */
export function priceOf({ price, gpu_count }: Terms): number | null {
  return price === null ? null : price / gpu_count
}

/** Of the sellers of these worlds. */
export const HIGHEST_PRICE = 6_000_000

/** Whether a price may be below 1 % of a median, which is at most the highest price: such a listing may come last. */
export function mayBeOutlier(terms: Terms): boolean {
  const price = priceOf(terms)
  return price !== null && price < HIGHEST_PRICE / 100
}

/** As gateways write it: rounded up to whole base units. */
export function wholeTokens(baseUnits: number): string {
  return String(Math.ceil(baseUnits) / 1e6)
}

export function isSameOffer({ terms: a }: Version, { terms: b }: Version): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

export function groupCopies<C extends Copy>(copies: readonly C[]): Listing<C>[] {
  return [...Map.groupBy(copies, ({ version }) => version.key)].map(([key, group]) => ({
    key,
    listingId: group[0]!.version.listingId,
    copies: group.toSorted((a, b) => a.path.rank - b.path.rank),
  }))
}

/** What a gateway has to answer to these copies: each listing by its best one, in the order that is asked for. Dates behind `cap` come last. */
export function listingsOf(copies: readonly Copy[], question: Question, cap: Micros): Listing[] {
  const competing = copies.filter((copy) => isCompeting(question, copy))
  const listings = groupCopies(competing).filter(({ copies: [best] }) => isMatch(question, best!))
  const placed = listings.map((listing) => ({ listing, place: placeOf(listing, question, cap) }))
  return placed.sort((a, b) => comparePlaces(a.place, b.place)).map(({ listing }) => listing)
}

type Place = readonly (number | string)[]

/** By price: the price, newest first, then by id; else newest first, then by id. Listings of one id are in the order of their sources' names. */
function placeOf({ listingId, copies }: Listing, { isByPrice }: Question, cap: Micros): Place {
  const { path, version } = copies[0]!
  const ties = [listingId, path.source]
  // The order by price takes dates of the future as they are.
  return isByPrice
    ? [priceOf(version.terms) ?? Number.POSITIVE_INFINITY, -version.createdAt, ...ties]
    : [newestPlace(version.createdAt, cap), ...ties]
}

/** Where a date is in an order that has the newest first, and dates behind `cap` last. */
export function newestPlace(createdAt: Micros, cap: Micros): number {
  return createdAt > cap ? BEHIND_ALL - createdAt : -createdAt
}

/** Greater than any date. */
const BEHIND_ALL = 4e15

function comparePlaces(a: Place, b: Place): number {
  const n = a.findIndex((value, at) => value !== b[at])
  return n === -1 ? 0 : compare(a[n]!, b[n]!)
}

function compare<T extends number | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** What `GET /facets` counts. */
export type Counts = {
  total: number
  gpu_model: Record<string, number>
  region: Record<string, number>
  registry: Record<string, number>
  /** `null` where no listing has a price. */
  prices: { offers: number; gpus: number; least: string; median: string; most: string } | null
}

export function countsOf(listings: readonly Listing[]): Counts {
  const shown = listings.map(({ copies }) => copies[0]!)
  const priced = shown
    .flatMap(({ version: { terms } }) => ({ price: priceOf(terms), gpus: terms.gpu_count }))
    .filter((one): one is { price: number; gpus: number } => one.price !== null)
    .sort((a, b) => a.price - b.price)
  const amountAt = (n: number): string => wholeTokens(priced[n]!.price)
  return {
    total: shown.length,
    gpu_model: countBy(shown.map(({ version }) => version.terms.gpu_model)),
    region: countBy(shown.map(({ version }) => version.terms.region)),
    registry: countBy(shown.map(({ path }) => path.shownAs)),
    prices:
      priced.length === 0
        ? null
        : {
            offers: priced.length,
            gpus: priced.reduce((sum, { gpus }) => sum + gpus, 0),
            least: amountAt(0),
            median: amountAt((priced.length - 1) >> 1),
            most: amountAt(priced.length - 1),
          },
  }
}

function countBy(values: readonly string[]): Record<string, number> {
  return Object.fromEntries(
    [...Map.groupBy(values, (value) => value)].map(([value, { length }]) => [value, length]),
  )
}
