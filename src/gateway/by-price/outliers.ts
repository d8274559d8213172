import { ALL_OPEN } from '../../domain/query.ts'
import type { Reader } from '../../domain/reader.ts'
import { keepLatest } from '../../domain/remembered.ts'
import { askNow, versionOf } from '../asked.ts'
import type { MarketSettings } from '../sources.ts'
import { countBounds } from './outlier-marks.ts'
import { NO_BOUNDS, type PriceBounds } from './price-bounds.ts'

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
