import { sellerKey } from '../../domain/listing-identity.ts'
import { ALL_OPEN } from '../../domain/query.ts'
import { maySee, type Reader } from '../../domain/reader.ts'
import type { Item } from '../../domain/source/reading.ts'
import { inTurns } from '../../domain/turns.ts'
import { decidersOf, decidingView } from '../deciders.ts'
import { selectAll } from '../facets.ts'
import { readListing } from '../merged-item.ts'
import { type MergeSettings, rankSources, visibleSources, withBudget } from '../sources.ts'
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
  const hasMemory = settings.sources.some(({ held }) => held !== undefined && held.fetch === undefined)
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

/** Over the listings in memory that one view has: to read others would cost requests. */
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
    const isByLive = this.#isByLive(sources)
    const query = isByLive ? ALL_OPEN : { ...ALL_OPEN, standing: reader.filter }
    const { signal } = new AbortController()
    const { selected } = await selectAll({ ...settings, sources }, query, { reader, signal })
    const counts = isByLive ? await openCounts(settings, reader, signal) : COUNTS_ALL
    const marks = await inTurns(countBounds(selected, settings, counts))
    const now = clock.monotonic()
    const until = now + Math.max(MIN_AGE_MS, REST * (now - started))
    const checks = selected.map(({ selection }) => selection?.isCurrent)
    const isCurrent = (): boolean => {
      if (clock.monotonic() < until) return true
      if (isByLive) return false
      const now = versionsOf(this.#held())
      return now === versions && (!now.includes(UNKNOWN) || checks.every((check) => check?.() === true))
    }
    this.#latest = { ...marks, id: ++lastId, isCurrent }
    return this.#latest
  }

  /** Whether a live source may have the better copy of a listing in memory, which decides whether the view has the listing. */
  #isByLive(held: MergeSettings['sources']): boolean {
    if (this.#reader.filter.key === '') return false
    const ranked = rankSources(this.#settings.sources.filter((source) => maySee(this.#reader, source)))
    return ranked.slice(0, held.length).some((source) => !held.includes(source))
  }

  #held(): MergeSettings['sources'] {
    return this.#settings.sources.filter(
      (source) => maySee(this.#reader, source) && source.held?.answers(ALL_OPEN) === true,
    )
  }
}

async function countSelected(selected: readonly WholeRead[], settings: Settings): Promise<PriceBounds> {
  return { ...(await inTurns(countBounds(selected, settings))), id: ++lastId, isCurrent: () => true }
}

let lastId = 0

const UNKNOWN = '?'

/** Names of sources and versions have no comma. */
const versionsOf = (sources: MergeSettings['sources']): string =>
  sources.map(({ name, held }) => `${name} ${held?.version?.() ?? UNKNOWN}`).join()

type Counts = (item: Item, source: string) => boolean

const COUNTS_ALL: Counts = () => true

/**
 * Copies of the listings that the view has, as the live sources say, too: a view with a filter reads these whole for every answer.
 * Nothing counts where one of them is too large to be read whole.
 */
async function openCounts(settings: Settings, reader: Reader, caller: AbortSignal): Promise<Counts> {
  const { sources, holdings, budgetMs } = settings
  const ranked = rankSources(visibleSources(sources, { reader, signal: caller }))
  const query = { ...ALL_OPEN, standing: reader.filter }
  const deciders = await withBudget(budgetMs, caller, (signal) =>
    decidersOf(holdings, budgetMs)(ranked, query, signal),
  )
  const ranks = new Map(ranked.map(({ name }, rank) => [name, rank]))
  const view = decidingView(reader.filter)
  return (item, source) => {
    if (deciders.mayLookUp) return false
    const hiding = deciders.hidingOf(item, ranks.get(source)!)
    return hiding === null ? view.has(item, source) : hiding === 'hidden'
  }
}

function* countBounds(
  selected: readonly WholeRead[],
  settings: Settings,
  counts: Counts = COUNTS_ALL,
): Generator<void, Marks> {
  const counter = new BoundsCounter()
  for (const { selection, source } of selected)
    for (const item of selection?.items() ?? []) {
      yield
      if (!counts(item, source.name)) continue
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
