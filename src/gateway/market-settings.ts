import type { Clock } from '../domain/clock.ts'
import type { TokenTable } from '../domain/price/token.ts'
import type { Reader } from '../domain/reader.ts'
import type { Holding } from '../domain/source/holding.ts'
import type { SourceError } from '../domain/source/source-error.ts'
import type { CopyIndex } from '../listing-index/copy-index.ts'
import type { Ranking } from '../listing-index/ranking.ts'
import type { Vocabulary } from '../vocabulary/vocabulary.ts'
import type { Cursors } from './pages/cursor.ts'
import type { ItemPrices } from './pages/item-price.ts'
import type { PriceBounds } from './pages/price-bounds.ts'
import type { Rules } from './rules.ts'
import type { Asked } from './sources.ts'

/** What every answer is made of. */
export type MarketSettings = {
  /** All copies of all sources. */
  index: CopyIndex
  /** Whose word counts, for the readers of one line of the protocol. */
  ranking: Ranking
  /** In the order of the configuration. */
  sources: readonly Holding[]
  /** By name; 0 is the best. */
  ranks: ReadonlyMap<string, number>
  rules: Rules
  budgetMs: number
  clock: Clock
  tokens: TokenTable
  vocabulary: Vocabulary
  itemPrices: ItemPrices
  /** Of the outliers among what the reader may see. `asked`: the question of the answer. */
  boundsOf: (reader: Reader, asked?: Asked) => Promise<PriceBounds>
  /** `null`: no cursors. */
  cursors?: Cursors | null
  /** Details of a failure, for reports. Absent: readers see its reason alone. */
  describeFailure?: ((failure: SourceError, source: string) => string) | undefined
}
