import { sellerKey } from '../../domain/listing-identity.ts'
import { ALL_OPEN } from '../../domain/query.ts'
import { maySee, type Reader } from '../../domain/reader.ts'
import { inTurns } from '../../domain/turns.ts'
import { selectAll } from '../facets.ts'
import { readListing } from '../merged-item.ts'
import type { MergeSettings } from '../sources.ts'
import { type Marks, marksOf, modelOf, type Settings } from './outlier-marks.ts'
import {
  BoundsCounter,
  type FindBounds,
  NO_BOUNDS,
  type PriceBounds,
  type WholeRead,
} from './price-bounds.ts'

/** Bounds are not counted again before. */
const MIN_AGE_MS = 10_000
/** How many times as long as they took to count, bounds are kept at least. */
const REST = 50
/** Views whose bounds are kept. */
const MAX_VIEWS = 16

/**
 * A function that counts the bounds of each view again when its sources have changed, meanwhile it gives those from before. Where no
 * source holds its listings by itself, bounds are those of what was read for the answer.
 */
export function createFindBounds(settings: Settings): FindBounds {
  const views = new Map<string, ViewBounds>()
  const hasMemory = settings.sources.some(({ held }) => held.fetch === undefined)
  return async (reader, selected) => {
    if (!hasMemory) return selected === undefined ? NO_BOUNDS : countSelected(selected, settings)
    const name = `${reader.view}\n${reader.digest}`
    const view = views.get(name) ?? new ViewBounds(settings, reader)
    views.delete(name)
    views.set(name, view)
    if (views.size > MAX_VIEWS) views.delete(views.keys().next().value!)
    return view.get()
  }
}

/** Over the listings that one view has. */
class ViewBounds {
  readonly #settings: Settings
  readonly #reader: Reader
  #latest: PriceBounds | null = null
  #counting: Promise<PriceBounds> | null = null

  constructor(settings: Settings, reader: Reader) {
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
    const settings = this.#settings
    const { clock } = settings
    const started = clock.monotonic()
    const sources = this.#held()
    const versions = versionsOf(sources)
    const reader = this.#reader
    const query = { ...ALL_OPEN, standing: reader.filter }
    const { signal } = new AbortController()
    const { selected } = await selectAll({ ...settings, sources }, query, { reader, signal })
    const marks = await inTurns(countBounds(selected, settings))
    const now = clock.monotonic()
    const until = now + Math.max(MIN_AGE_MS, REST * (now - started))
    const isCurrent = (): boolean => clock.monotonic() < until || versionsOf(this.#held()) === versions
    this.#latest = { ...marks, id: ++lastId, isCurrent }
    return this.#latest
  }

  #held(): MergeSettings['sources'] {
    return this.#settings.sources.filter(
      (source) => maySee(this.#reader, source) && source.held.failure(ALL_OPEN) === null,
    )
  }
}

async function countSelected(selected: readonly WholeRead[], settings: Settings): Promise<PriceBounds> {
  return { ...(await inTurns(countBounds(selected, settings))), id: ++lastId, isCurrent: () => true }
}

let lastId = 0

/** Names of sources and versions have no comma. */
const versionsOf = (sources: MergeSettings['sources']): string =>
  sources.map(({ name, held }) => `${name} ${held.version?.()}`).join()

function* countBounds(selected: readonly WholeRead[], settings: Settings): Generator<void, Marks> {
  const counter = new BoundsCounter()
  for (const { selection, source } of selected)
    for (const item of selection?.items() ?? []) {
      yield
      const model = modelOf(item, source.name, settings)
      if (model !== null)
        counter.add(
          model,
          sellerKey(item) ?? '',
          settings.itemPrices.of(item, () => readListing(item)).byGroup,
        )
    }
  const marks = marksOf(counter.bounds, settings)
  if (marks.highest.size > 0)
    for (const { selection, source } of selected)
      for (const item of selection?.items() ?? []) {
        yield
        marks.outliersOf(item, source.name)
      }
  return marks
}
