import type { Clock } from '../domain/clock.ts'
import type { TokenTable } from '../domain/price/token.ts'
import type { Reader } from '../domain/reader.ts'
import type { Holding } from '../domain/source/holding.ts'
import type { SourceError } from '../domain/source/source-error.ts'
import type { FilterSpec } from '../filter-spec/filter.ts'
import type { KnownSpec } from '../filter-spec/upstream-spec.ts'
import type { CopyIndex } from '../listing-index/copy-index.ts'
import type { Ranking } from '../listing-index/ranking.ts'
import type { Vocabulary } from '../vocabulary/vocabulary.ts'
import type { SourceNote } from '../wire/source.ts'
import type { Asked } from './asking.ts'
import type { ChangeFeed } from './changes/change-feed.ts'
import type { Cursors } from './pages/cursor.ts'
import type { ItemPrices } from './pages/item-price.ts'
import type { PriceBounds } from './pages/price-bounds.ts'
import type { Curation, Rules } from './rules.ts'

export type MarketSource = Holding & {
  /** Absent for the own Registry. What `load` gives is waited for; `null`: nothing. */
  spec?: Pick<KnownSpec, 'current' | 'failure' | 'load'> | undefined
  health: (signal: AbortSignal) => readonly SourceNote[] | Promise<readonly SourceNote[]>
}

/** What a market is opened with. */
export type MarketParts = {
  /** All copies of all sources. */
  index: CopyIndex
  /** In the order of the configuration. */
  sources: readonly MarketSource[]
  /** Whether it is that of readers of the signed line. Default: no. */
  isSigned?: boolean
  /** Of the own Registry; `null` for the market of a buyer. */
  spec: FilterSpec | null
  /** Absent for the market of a buyer. */
  gatewayId?: string
  tokens: TokenTable
  vocabulary: Vocabulary
  /** Whether readers who do not see private sources learn that there are some. Default: no. */
  announcesPrivate?: boolean
  budgetMs: number
  /** Longest wait for the counts of `filters`. */
  countMs?: number
  clock: Clock
  /** Absent for the market of a buyer, whose changes are not known. */
  feed?: ChangeFeed
  /** What the operator leaves out, for every reader. */
  curation?: Curation | undefined
  cursors: Cursors
  /** The source that a reader means by the name of one behind it. */
  sourceOf?: (name: string) => string
  /** Details of a failure, for reports. Absent: readers see its reason alone. */
  describeFailure?: ((failure: SourceError, source: string) => string) | undefined
}

/** What every answer is made of. */
export type MarketSettings = MarketParts & {
  /** Whose word counts, for the readers of one line of the protocol. */
  ranking: Ranking
  rules: Rules
  itemPrices: ItemPrices
  /** Of the outliers among what the reader may see. `asked`: the question of the answer. */
  boundsOf: (reader: Reader, asked?: Asked) => Promise<PriceBounds>
}
