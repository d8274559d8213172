import { sellerKey } from '../../domain/listing-identity.ts'
import { ALL_OPEN } from '../../domain/query.ts'
import type { Reader } from '../../domain/reader.ts'
import { inTurns } from '../../domain/turns.ts'
import { type Asked, askNow, matchesOf, type NamedMatches, nameIn, versionOf } from '../asked.ts'
import { readListing } from '../merged-item.ts'
import type { MarketSettings } from '../sources.ts'
import { type Marks, marksOf, modelOf } from './outlier-marks.ts'
import { BoundsCounter, type FindBounds, NO_BOUNDS, type PriceBounds } from './price-bounds.ts'

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
export function createFindBounds(settingsOf: () => MarketSettings): FindBounds {
  const views = new Map<string, ViewBounds>()
  return async (reader, asked) => {
    const settings = settingsOf()
    if (settings.sources.every(({ fetch }) => fetch !== undefined))
      return asked === undefined ? NO_BOUNDS : { ...(await countBounds(settings, asked)), ...ofNow() }
    const name = `${reader.view}\n${reader.digest}`
    const view = views.get(name) ?? new ViewBounds(settings, reader)
    views.delete(name)
    views.set(name, view)
    if (views.size > MAX_VIEWS) views.delete(views.keys().next().value!)
    return view.get()
  }
}

let lastId = 0

const ofNow = (): Pick<PriceBounds, 'id' | 'isCurrent'> => ({ id: ++lastId, isCurrent: () => true })

/** Over the listings that one view has. */
class ViewBounds {
  readonly #settings: MarketSettings
  readonly #reader: Reader
  #latest: PriceBounds | null = null
  #counting: Promise<PriceBounds> | null = null

  constructor(settings: MarketSettings, reader: Reader) {
    this.#settings = settings
    this.#reader = reader
  }

  async get(): Promise<PriceBounds> {
    if (this.#latest?.isCurrent() === true) return this.#latest
    this.#counting ??= this.#count().finally(() => {
      this.#counting = null
    })
    return this.#latest ?? this.#counting
  }

  async #count(): Promise<PriceBounds> {
    const { clock } = this.#settings
    const started = clock.monotonic()
    const asked = this.#ask()
    const marks = await countBounds(this.#settings, asked)
    const now = clock.monotonic()
    const until = now + Math.max(MIN_AGE_MS, REST * (now - started))
    const isCurrent = (): boolean => {
      if (clock.monotonic() < until) return true
      return versionOf(this.#settings, this.#ask().scope) === asked.version
    }
    this.#latest = { ...marks, id: ++lastId, isCurrent }
    return this.#latest
  }

  #ask(): Asked {
    const reader = this.#reader
    return askNow(this.#settings, { ...ALL_OPEN, standing: reader.filter }, { reader })
  }
}

async function countBounds(settings: MarketSettings, asked: Asked): Promise<Marks> {
  const matches = await matchesOf(settings, asked)
  return inTurns(countAll({ matches, nameOf: nameIn(asked) }, settings))
}

function* countAll({ matches, nameOf }: NamedMatches, settings: MarketSettings): Generator<void, Marks> {
  const counter = new BoundsCounter()
  for (const copy of matches.copies()) {
    yield
    const model = modelOf(copy, nameOf(copy), settings)
    if (model === null) continue
    const { byGroup } = settings.itemPrices.of(copy, () => readListing(copy))
    counter.add(model, sellerKey(copy) ?? '', byGroup)
  }
  const marks = marksOf(counter.bounds, settings)
  if (marks.highest.size > 0)
    for (const copy of matches.copies()) {
      yield
      marks.outliersOf(copy, nameOf(copy))
    }
  return marks
}
