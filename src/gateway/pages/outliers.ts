import { addTo, mapIn } from '../../domain/counts.ts'
import { identityKey } from '../../domain/listing-identity.ts'
import { type PriceKey, toPriceKey } from '../../domain/price/price-key.ts'
import { ALL_OPEN } from '../../domain/query.ts'
import type { Reader } from '../../domain/reader.ts'
import { keepLatest } from '../../domain/remembered.ts'
import type { Item } from '../../domain/source/item.ts'
import { inTurns } from '../../domain/turns.ts'
import { documentOf } from '../../listing-index/document-reader.ts'
import { modelIn } from '../../vocabulary/meaning.ts'
import { askNow, matchesOf, nameIn, versionOf } from '../ask.ts'
import type { Asked } from '../asking.ts'
import type { MarketSettings } from '../market-settings.ts'
import {
  type Bound,
  LEAST_PUBLISHERS,
  type Marks,
  NO_BOUNDS,
  OUTLIER_PART,
  type PriceBounds,
} from './price-bounds.ts'

/** Bounds are not counted again before. */
const MIN_AGE_MS = 10_000
/** How many times as long as they took to count, bounds are kept at least. */
const REST = 50
/** Views whose bounds are kept. */
const MAX_VIEWS = 16

/**
 * A function that counts the bounds of each view again when its sources have changed, meanwhile it gives those from before. Where
 * sources hold only what was asked, bounds are those of the matches of an order by price or of counts.
 */
export function createFindBounds(settingsOf: () => MarketSettings): MarketSettings['boundsOf'] {
  const views = new Map<string, () => Promise<PriceBounds>>()
  return async (reader, asked) => {
    const settings = settingsOf()
    if (settings.sources.every(({ fetch }) => fetch !== undefined)) {
      if (asked === undefined) return NO_BOUNDS
      return { ...(await countBounds(settings, asked)), id: ++lastId, isCurrent: () => true }
    }
    const name = `${reader.view}\n${reader.digest}`
    const find = views.get(name) ?? boundsOfView(settings, reader)
    keepLatest(views, name, find, MAX_VIEWS)
    return find()
  }
}

let lastId = 0

/** Over the listings that one view has. */
function boundsOfView(settings: MarketSettings, reader: Reader): () => Promise<PriceBounds> {
  const { clock } = settings
  const ask = () => askNow(settings, ALL_OPEN, { reader })
  let latest: PriceBounds | null = null
  let counting: Promise<PriceBounds> | null = null
  return async () => {
    if (latest?.isCurrent() === true) return latest
    counting ??= count().finally(() => {
      counting = null
    })
    return latest ?? counting
  }

  async function count(): Promise<PriceBounds> {
    const started = clock.monotonic()
    const asked = ask()
    const marks = await countBounds(settings, asked)
    const now = clock.monotonic()
    const until = now + Math.max(MIN_AGE_MS, REST * (now - started))
    const isCurrent = (): boolean =>
      clock.monotonic() < until || versionOf(settings, ask().scope.sources) === asked.version
    latest = { ...marks, id: ++lastId, isCurrent }
    return latest
  }
}

/** Groups of prices that have bounds, those of most offers: sellers choose units. */
const MAX_GROUPS = 32
/** As JSON, of the bounds that mark something: cursors carry them, and further ones mark nothing. */
const MAX_MARKING_BYTES = 6144

/** Of the listings that the question shows, which are all looked at. */
async function countBounds(settings: MarketSettings, asked: Asked): Promise<Marks> {
  const matches = await matchesOf(settings, asked)
  return inTurns(count())

  function* count(): Generator<void, Marks> {
    const counts: ByGroup<BySeller> = new Map()
    for (const copy of matches.copies()) {
      yield
      const model = modelOf(copy, nameIn(asked, copy), settings)
      if (model === null) continue
      for (const [group, key] of settings.itemPrices.of(copy).byGroup)
        addTo(mapIn(mapIn(mapIn(counts, group), model), identityKey(copy) ?? ''), key)
    }
    const marks = marksOf(boundsOf(counts), settings)
    if (marks.highest.size > 0)
      for (const copy of matches.copies()) {
        yield
        marks.outliersOf(copy, nameIn(asked, copy))
      }
    return marks
  }
}

/** What these bounds mark, which a cursor has carried. */
export function outliersBelow(bounds: readonly Bound[], settings: MarketSettings): Marks['outliersOf'] {
  const byGroup: ByGroup<PriceKey> = new Map()
  for (const [group, model, key] of bounds) mapIn(byGroup, group).set(model, toPriceKey(BigInt(key)))
  return marksOf(byGroup, settings).outliersOf
}

/** By group of prices, then by model. */
type ByGroup<Value> = Map<string, Map<string, Value>>
/** Offers per key. */
type Counts = Map<PriceKey, number>
type BySeller = Map<string, Counts>

function marksOf(bounds: ByGroup<PriceKey>, settings: MarketSettings): Marks {
  const highest = new Map(
    Array.from(bounds, ([group, byModel]) => {
      return [group, [...byModel.values()].reduce((one, other) => (other > one ? other : one))] as const
    }),
  )
  const marking = new Map<string, Bound>()
  let room = MAX_MARKING_BYTES
  const isMarked = (group: string, model: string, bound: PriceKey): boolean => {
    const name = `${group}\n${model}`
    if (marking.has(name)) return true
    const row: Bound = [group, model, String(bound)]
    room -= Buffer.byteLength(JSON.stringify(row))
    if (room >= 0) marking.set(name, row)
    return room >= 0
  }
  return {
    highest,
    marking: () => [...marking.values()],
    outliersOf: (item, source) => {
      if (bounds.size === 0) return []
      const low = [...settings.itemPrices.of(item).byGroup].filter(
        ([group, key]) => key < (highest.get(group) ?? 0),
      )
      const model = low.length === 0 ? null : modelOf(item, source, settings)
      if (model === null) return []
      return low.flatMap(([group, key]) => {
        const bound = bounds.get(group)?.get(model) ?? 0
        return key < bound && isMarked(group, model, bound) ? group : []
      })
    },
  }
}

function modelOf(item: Item, source: string, { vocabulary }: MarketSettings): string | null {
  return modelIn(item.meaning ?? vocabulary.describe(documentOf(item.bytes), source))
}

/** Where there are enough publishers. */
function boundsOf(counts: ByGroup<BySeller>): ByGroup<PriceKey> {
  const groups = Array.from(counts, ([group, byModel]) => {
    const bounds = Array.from(byModel).flatMap(([model, bySeller]) => {
      return bySeller.size < LEAST_PUBLISHERS ? [] : ([[model, boundOf(bySeller)]] as const)
    })
    const offers = byModel.values().flatMap((bySeller) => bySeller.values().map(sumOf))
    return { group, offers: offers.reduce((sum, one) => sum + one, 0), bounds }
  })
  const kept = groups
    .filter(({ bounds }) => bounds.length > 0)
    .sort((a, b) => b.offers - a.offers || (a.group < b.group ? -1 : 1))
    .slice(0, MAX_GROUPS)
  return new Map(kept.map(({ group, bounds }) => [group, new Map(bounds)]))
}

/** The least key of which `OUTLIER_PART` times are the lower median of the publishers' own lower medians, or more. */
function boundOf(bySeller: BySeller): PriceKey {
  const medians: Counts = new Map()
  for (const counts of bySeller.values()) addTo(medians, lowerMedian(counts))
  return toPriceKey((BigInt(lowerMedian(medians)) + OUTLIER_PART - 1n) / OUTLIER_PART)
}

function lowerMedian(counts: Counts): PriceKey {
  let left = Math.ceil(sumOf(counts) / 2)
  const sorted = [...counts].sort(([a], [b]) => (a < b ? -1 : 1))
  const [median] = sorted.find(([, count]) => {
    left -= count
    return left <= 0
  })!
  return median
}

const sumOf = (counts: Counts): number => counts.values().reduce((sum, count) => sum + count, 0)
